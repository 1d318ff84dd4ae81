/// An async closure that runs, as the code that it calls finds it.
///
/// A child task, and a task that the closure starts, find it too, even after the closure has
/// returned. They do not keep the future.
package class RunningClosure: @unchecked Sendable {
  // Sendable: `target` has a lock; subclasses argue for their own state.
  @TaskLocal static var current: RunningClosure?

  private let target: Lock<AnyFuture?>
  /// Whether the closure makes the future's result, as the condition of a task does not.
  private let isWork: Bool

  init(for future: AnyFuture?, isWork: Bool = true) {
    target = Lock(future)
    self.isWork = isWork
  }

  /// The future of the closure's result; `nil` before the closure has its slot, and after
  /// it has returned.
  package final var future: AnyFuture? { target.withLock { $0 } }

  /// The future whose progress the closure reports.
  final var futureOfReports: AnyFuture? { isWork ? future : nil }

  final func begin(for future: AnyFuture) { target.replace(with: future) }

  /// Called in the task that runs the closure, before the closure.
  package func willRun() {}

  /// Called in the task that runs the closure, after the closure.
  package func hasRun() { target.replace(with: nil) }

  /// Runs the closure.
  package final func run<Output>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Output
  ) async rethrows -> Output {
    willRun()
    defer { hasRun() }
    return try await Self.$current.withValue(self, operation: body)
  }

  /// Makes a task that finds this closure.
  ///
  /// The task calls `willRun()` and `hasRun()` itself. It costs less than `run(_:)`, which
  /// gives a task the closure later.
  package final func inNewTask<Outcome>(_ makeTask: () throws -> Outcome) rethrows -> Outcome {
    try Self.$current.withValue(self, operation: makeTask)
  }
}
