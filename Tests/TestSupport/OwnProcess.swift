import Foundation

/// What the body of an exit test uses to end its process.
package enum OwnProcess {
  /// Ends the process as failed, unless it has ended before.
  ///
  /// The clock is a thread, so it runs although the main thread or every
  /// thread of Dispatch's pools is blocked.
  ///
  /// - Parameter patience: How long the process may take.
  package static func fail(after patience: Duration) {
    Thread {
      Thread.sleep(forTimeInterval: patience.seconds)
      exit(EXIT_FAILURE)
    }.start()
  }

  /// Runs a closure on a thread of its own and ends the process: as succeeded
  /// if the closure returns `true`.
  ///
  /// Blocks the caller for good.
  ///
  /// - Parameters:
  ///   - patience: How long the closure may take.
  ///   - body: What to run.
  package static func end(
    within patience: Duration = Event.patience * 2, _ body: @escaping @Sendable () -> Bool
  ) -> Never {
    fail(after: patience)
    Thread { exit(body() ? EXIT_SUCCESS : EXIT_FAILURE) }.start()
    while true { sleep(1) }
  }
}
