/// An async closure that runs, as the code that it calls finds it.
///
/// A child task, and a task that the closure starts, find it too, even after the closure has
/// returned. They do not keep the future.
package class RunningClosure: @unchecked Sendable {
  // Sendable: `target` has a lock; subclasses argue for their own state.
  @TaskLocal static var current: RunningClosure?

  private let target: Lock<AnyFuture?>

  init(for future: AnyFuture) { target = Lock(future) }

  /// The future of the closure's result; `nil` after the closure has returned.
  package final var future: AnyFuture? { target.withLock { $0 } }

  /// Called in the task that runs the closure, before and after the closure.
  func willRun() {}
  func hasRun() {}

  /// Runs the closure.
  package final func run<Output>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Output
  ) async rethrows -> Output {
    willRun()
    defer {
      hasRun()
      target.replace(with: nil)
    }
    return try await Self.$current.withValue(self, operation: body)
  }
}
