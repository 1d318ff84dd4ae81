import Foundation

/// Runs closures on a small stack, where recursion overflows.
package enum SmallStackThread {
  /// The thread did not end in time.
  package struct TimedOut: Error {}

  /// Runs a closure on a thread of its own with a small stack, and waits for its end.
  ///
  /// - Parameters:
  ///   - stackSize: The size of the stack in bytes. Secondary threads have 512 KiB on
  ///     Apple platforms.
  ///   - patience: How long the closure may take.
  ///   - body: The closure.
  /// - Returns: The value that the closure returns.
  /// - Throws: The error that the closure throws, or `TimedOut`.
  @available(*, noasync, message: "Use 'running(stackSize:within:_:)'.")
  package static func run<Output: Sendable>(
    stackSize: Int = 512 * 1024, within patience: Duration = Event.patienceForWork,
    _ body: @escaping @Sendable () throws -> Output
  ) throws -> Output {
    let (event, outcome) = start(stackSize, body)
    guard event.wait(patience), let result = outcome.value else { throw TimedOut() }
    return try result.get()
  }

  /// The same, for async code.
  package static func running<Output: Sendable>(
    stackSize: Int = 512 * 1024, within patience: Duration = Event.patienceForWork,
    _ body: @escaping @Sendable () throws -> Output
  ) async throws -> Output {
    let (event, outcome) = start(stackSize, body)
    guard await event.opened(within: patience), let result = outcome.value else {
      throw TimedOut()
    }
    return try result.get()
  }

  private static func start<Output: Sendable>(
    _ stackSize: Int, _ body: @escaping @Sendable () throws -> Output
  ) -> (Event, Box<Result<Output, any Error>?>) {
    let event = Event()
    let outcome = Box<Result<Output, any Error>?>(nil)
    let thread = Thread {
      outcome.value = Result { try body() }
      event.signal()
    }
    thread.stackSize = stackSize
    thread.start()
    return (event, outcome)
  }
}
