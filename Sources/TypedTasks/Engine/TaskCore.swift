import Foundation
import Futures

/// What a task has beside being a future, whatever its types: its life before
/// it settles, and who is told in which order at the end.
///
/// The state machine decides, under the lock; what it answers is done here,
/// after unlock, on any thread. The core does not keep its task; every method
/// gets it.
///
/// Each part of its life is in a file of its own, in this order: the way into a
/// queue (`+Enqueuing`), what it waits for (`+Dependencies`), the way to its work
/// (`+Running`), its end (`+Cancelling`, `+Conclusion`, `+Release`).
@usableFromInline
class TaskCore: FutureBehaviour, @unchecked Sendable {
  // Sendable: `state` has a lock; `membership` is guarded by the queue's lock;
  // the rest never changes.

  /// A closure that is called with the task, when it has settled.
  struct Handler {
    /// Where the closure runs; `nil` for the context of all handlers of the task.
    var context: ContextReference?
    let body: (AnyFuture) -> Void
  }

  /// The place in the queue's list of tasks, and between its barriers.
  struct Membership {
    var index = -1
    var epoch = 0
  }

  let state = Lock(State())
  /// Guarded by the lock of the queue.
  @exclusivity(unchecked) final var membership = Membership()
  /// How many operators there are below that are in no queue.
  let branches = Atomic<Int>(0)

  @usableFromInline
  init() {}

  // MARK: What kinds of tasks do in their own way

  /// Does the work.
  func execute(_ task: AnyFuture) {}
  /// Calls the hook of subclasses.
  func callFinished(_ task: AnyFuture) {}
  /// Whether there may be such a hook.
  var hasHook: Bool { true }
  /// Calls the other hook.
  func callWillEnqueue(_ task: AnyFuture) {}
  func tellStart(_ observer: any TaskObserver, _ task: AnyFuture) {}
  func tellCancel(_ observer: any TaskObserver, _ task: AnyFuture) {}
  func tellFinish(_ observer: any TaskObserver, _ task: AnyFuture) {}
  func tellWillAdd(_ delegate: any TaskQueueDelegate, _ queue: TaskQueue, _ task: AnyFuture) {}
  func tellDidFinish(_ delegate: any TaskQueueDelegate, _ queue: TaskQueue, _ task: AnyFuture) {}
  func tellDidReject(
    _ delegate: any TaskQueueDelegate, _ queue: TaskQueue, _ task: AnyFuture,
    _ error: ProducerTaskError
  ) {}
  func tellMemberFinished(_ owner: any TaskQueueOwner, _ task: AnyFuture) {}
  func evaluate(
    _ condition: AnyCondition, _ task: AnyFuture,
    _ completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {}
  func dependency(of condition: AnyCondition, for task: AnyFuture) -> NonFailTask? { nil }
  /// Settles the task with an error of the library.
  @discardableResult
  func fail(_ task: AnyFuture, _ error: any Error, from origin: SettlementOrigin = .outside) -> Bool
  {
    task.settle(failure: error, from: origin)
  }

  /// Whether it is an operator: it settles at once when it is cancelled, and
  /// holds no slot longer than its closure runs.
  var isOperator: Bool { false }
  /// Whether it has the engine's kind of upstream: one task, that it waits for
  /// from the beginning.
  var hasUpstream: Bool { false }
  /// Whether the operator's closure wants to see such an outcome.
  func acts(on outcome: Outcome) -> Bool { true }
  /// Settles an operator like a failed upstream whose outcome it does not act on.
  func pass(_ task: AnyFuture, _ source: AnyFuture) {}
  /// What an operator's closure has made has settled.
  func innerHasSettled(_ task: AnyFuture, _ source: AnyFuture) {}
  /// The attempts of a `retry`.
  var retryRun: RetryRun? { nil }
  /// Whether work that returns after a cancellation is over.
  var endsWhenCancelledWorkReturns: Bool { true }
  /// The task was asked to cancel while it executes.
  func workIsAskedToCancel(_ task: AnyFuture) {}
  /// The task has settled; called before anybody is told.
  func taskHasSettled(_ task: AnyFuture) {}
  /// `execute()` has returned.
  func workHasReturned(_ task: AnyFuture) {}
  /// A part of the task has settled.
  func partHasSettled(_ task: AnyFuture, _ part: AnyFuture) {}
  /// The tasks that it is waiting for because they are a part of it.
  var parts: [AnyFuture] { [] }
  /// The tasks that wait for it to execute because they are a part of it.
  var partsThatWait: [AnyFuture] { [] }
  /// Whether there may be any.
  var hasParts: Bool { false }
  /// The same, taken away, for a release without recursion.
  func takeParts() -> [AnyFuture] { [] }
  /// Whether it waits for handlers of a part, and these for a queue.
  func needsHandlers(on queue: OperationQueue) -> Bool { false }

  // MARK: Looking

  /// Whether the task goes on although its last consumer has left.
  ///
  /// Stages that are in no queue yet want the value, too. And a task that was added for
  /// its own sake goes on without the stages and consumers below it.
  @usableFromInline
  final func isStillWanted(_ future: AnyFuture, without leaver: AnyFuture?) -> Bool {
    branches.load(ordering: .relaxed) > 0 || (leaver?.taskCore != nil && isExplicit)
  }

  /// Whether the task is in its queue for its own sake.
  final var isExplicit: Bool {
    state.withLock { $0.machine.wasEnqueued && !$0.isImplicit }
  }

  final var phase: TaskStateMachine.Phase { state.withLock { $0.machine.phase } }
  final var isCancelRequested: Bool { state.withLock { $0.machine.isCancelRequested } }
  final var conditions: [AnyCondition] { state.withLock { $0.conditions } }
  final var observers: [any TaskObserver] { state.withLock { $0.observers } }
  final var dependencies: [Operation] { state.withLock { $0.dependencies.all } }
  final var sources: [AnyFuture] { state.withLock { $0.sources } }
  final var home: TaskQueue? { state.withLock { $0.home } }

  /// What an operator is below.
  final func upstreams(of task: AnyFuture) -> [AnyFuture] {
    if hasUpstream { return task.upstreamFuture.map { [$0] } ?? [] }
    return isOperator ? sources : []
  }

  func stateDescription(_ task: AnyFuture) -> String {
    if task.isSettled {
      return task.outcome == .success
        ? "succeeded"
        : task.isCancelled ? "cancelled" : "failed: \(task.anyError.map { "\($0)" } ?? "")"
    }
    return switch phase {
    case .created: "in no queue"
    case .waiting:
      home?.isOpen(for: self) == false
        ? "held back by a barrier" : "waiting for \(awaitedDescription(of: task))"
    case .checking: "waiting for its conditions"
    case .queueing: "waiting for its turn\(precedingDescription(of: task))"
    case .ready: "waiting for a slot"
    case .executing: "executing"
    case .ended: "ended"
    }
  }

  /// The tasks after which it is this one's turn; empty if an earlier task is just about to begin.
  private final func precedingDescription(of task: AnyFuture) -> String {
    let names = awaitedDescription(of: task)
    return names.isEmpty ? "" : " after \(names)"
  }

  /// The first few that the task waits for, and which of them would have to be
  /// put in a queue.
  private final func awaitedDescription(of task: AnyFuture) -> String {
    var seen: Set<ObjectIdentifier> = []
    let futures = task.futuresWaitedFor.filter { future in
      !future.isSettled && seen.insert(ObjectIdentifier(future)).inserted
    }
    let others = dependencies.filter { !($0 is AnyFuture) && !$0.isFinished }
    var names = futures.prefix(3).map { future in
      let isInNoQueue = future.taskCore?.phase == .created
      return isInNoQueue ? "\(future.taskName) (in no queue)" : future.taskName
    }
    names += others.prefix(3 - names.count).map { $0.name ?? String(describing: type(of: $0)) }
    let left = futures.count + others.count - names.count
    if left > 0 { names.append("\(left) more") }
    return names.joined(separator: ", ")
  }
}
