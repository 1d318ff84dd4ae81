import Futures

/// Something to tell the world, noted under the lock and told after it, in
/// order.
enum Delivery: Sendable {
  /// With its hook, if the task's worker calls it while another thread tells the news.
  case started(AnyWorkflowTask, StartHook?)
  /// With the result, in a box that the task can open.
  case finished(AnyWorkflowTask, ResultObject)
  case failed(AnyWorkflowTask, any Error)
  case cancelled(AnyWorkflowTask)
  case skipped(AnyWorkflowTask)
  case reset(AnyWorkflowTask)
  /// And it is tried again.
  case attemptFailed(AnyWorkflowTask, TaskAttempt)
  case retried(AnyWorkflowTask)
  /// The workflow inside the task has, or what is inside that: only counters want
  /// to know.
  case progressed(AnyWorkflowTask)
  case workflowFinished
  /// The task around the workflow is about to start, cancel, reset or retry it.
  case announced(WorkflowEvent, WorkflowNotification)
}

extension Delivery {
  /// Whether it can bring the workflow closer to its end, or further away.
  var countsOutside: Bool {
    switch self {
    case .finished, .skipped, .reset, .progressed: true
    default: false
    }
  }
}

extension Delivery {
  /// The task that the news is of, if it is of one.
  private var task: AnyWorkflowTask? {
    switch self {
    case .started(let task, _), .finished(let task, _), .failed(let task, _),
      .cancelled(let task), .skipped(let task), .reset(let task), .attemptFailed(let task, _),
      .retried(let task), .progressed(let task):
      task
    case .workflowFinished, .announced: nil
    }
  }

  /// Whether a hook of the task is called.
  var isForHook: Bool { task?.hasHooks ?? false }
  /// Whether it is a start whose hook the worker calls.
  var hasStartHook: Bool {
    if case .started(_, _?) = self { true } else { false }
  }
  /// Whether the task has a delegate of its own.
  var isForDelegate: Bool { task?.delegateIfAny != nil }
}

/// A box of a result, of whatever type.
typealias ResultObject = any AnyObject & Sendable

/// A result on its way to those who are told of it.
final class ResultBox<Output: Sendable>: Sendable {
  let result: Output
  init(_ result: Output) { self.result = result }
}

/// The hook of a task that has begun, which its worker calls: before the work, and before
/// observers are told of the start.
///
///   to be called ── the worker has called it ──▶ called
///     └── the thread that tells comes to the start ──▶ held up ── called ──▶ called, and
///         the worker goes on with the news
///
/// So neither thread waits for the other.
final class StartHook: @unchecked Sendable {
  // Sendable: `news` belongs to the thread that tells until `phase` says that it is held
  // up, and then to the worker.
  private enum Phase {
    static let toBeCalled: UInt8 = 0
    static let heldUp: UInt8 = 1
    static let called: UInt8 = 2
  }

  private let phase = Atomic<UInt8>(Phase.toBeCalled)
  private var news: ContiguousArray<Delivery> = []

  /// The thread that tells has come to the start; `false` if the hook was called before.
  ///
  /// - Parameter news: What is to be told from here on: for the worker if `true`.
  func holdsUp(_ news: ArraySlice<Delivery>) -> Bool {
    if phase.load(ordering: .acquiring) == Phase.called { return false }
    self.news = ContiguousArray(news)
    if phase.compareExchange(
      expected: Phase.toBeCalled, desired: Phase.heldUp, ordering: .acquiringAndReleasing
    ).exchanged {
      return true
    }
    self.news = []
    return false
  }

  /// The worker has called the hook.
  ///
  /// - Returns: The news that it has to tell, if it held them up.
  func wasCalled() -> ContiguousArray<Delivery>? {
    let before = phase.exchange(Phase.called, ordering: .acquiringAndReleasing)
    guard before == Phase.heldUp else { return nil }
    defer { news = [] }
    return news
  }
}
