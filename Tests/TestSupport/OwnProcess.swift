import Foundation

/// Ends the process of an exit test.
package enum OwnProcess {
  /// Ends the process as failed, unless it has ended before.
  ///
  /// The clock is a thread of its own. So it runs even if the main thread or all threads
  /// of Dispatch's pools are blocked.
  ///
  /// - Parameter patience: How long the process may take.
  package static func fail(after patience: Duration) {
    Thread {
      Thread.sleep(forTimeInterval: patience.seconds)
      exit(EXIT_FAILURE)
    }.start()
  }

  /// Runs a closure on a thread of its own and ends the process; the process succeeds if
  /// the closure returns `true`.
  ///
  /// The caller is blocked until the process ends.
  ///
  /// - Parameters:
  ///   - patience: How long the closure may take.
  ///   - body: The closure.
  package static func end(
    within patience: Duration = Event.patienceForWork, _ body: @escaping @Sendable () -> Bool
  ) -> Never {
    fail(after: patience)
    Thread { exit(body() ? EXIT_SUCCESS : EXIT_FAILURE) }.start()
    while true { sleep(1) }
  }
}
