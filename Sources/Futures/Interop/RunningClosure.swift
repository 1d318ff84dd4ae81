/// An async closure that runs, as the code that it calls finds it.
///
/// A child task, and a task that the closure starts, find it too, even after the closure has
/// returned. They do not keep the future.
package class RunningClosure: @unchecked Sendable {
  // Sendable: `target` has a lock; subclasses argue for their own state.
  @TaskLocal static var current: RunningClosure?

  private struct Target {
    var future: AnyFuture?
    /// Whether the closure's reports are the progress of the future.
    var reports: Bool
  }

  private let target: Lock<Target>

  /// Calls a function that belongs to no closure, although one may have led to the call.
  static func outside(_ body: () -> Void) {
    if current == nil { body() } else { $current.withValue(nil, operation: body) }
  }

  /// - Parameter isWork: Whether the closure makes the future's result, as the condition of a
  ///   task does not.
  init(for future: AnyFuture?, isWork: Bool = true) {
    target = Lock(Target(future: future, reports: isWork))
  }

  /// The future of the closure's result; `nil` before the closure has its slot, and after
  /// what follows the closure in its slot.
  package final var future: AnyFuture? { target.withLock { $0.future } }

  /// The future whose progress the closure reports; `nil` after the closure has returned.
  final var futureOfReports: AnyFuture? { target.withLock { $0.reports ? $0.future : nil } }

  final func begin(for future: AnyFuture) { target.withLock { $0.future = future } }

  /// Called in the task that runs the closure, before the closure.
  package func willRun() {}

  /// Called in the task that runs the closure, when the closure has returned, if what follows
  /// still belongs to the closure's slot.
  package final func hasReturned() { target.withLock { $0.reports = false } }

  /// Called in the task that runs the closure, after the closure and what follows it.
  package func hasRun() {
    // The future may be released with it, so not under the lock.
    _ = target.withLock { $0.future.take() }
  }

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
  /// The task calls `willRun()` and `hasRun()` itself, or gives the slot back. It costs less
  /// than `run(_:)`, which gives a task the closure later.
  package final func inNewTask<Outcome>(_ makeTask: () throws -> Outcome) rethrows -> Outcome {
    try Self.$current.withValue(self, operation: makeTask)
  }
}
