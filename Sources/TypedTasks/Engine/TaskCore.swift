import Foundation
import Futures

/// The part of a task that does not depend on its types: its life before it settles, and
/// the order of the calls at its end.
///
/// The state machine decides under the lock. The core performs the returned action after
/// unlock, on any thread. The core does not keep its task; every method gets the task.
///
/// Each part of a task's life has its own file, in this order: the way into a queue
/// (`+Enqueuing`), the waits (`+Dependencies`), the way to the work (`+Running`), the end
/// (`+Cancelling`, `+Conclusion`, `+Release`).
@usableFromInline
class TaskCore: FutureBehaviour, @unchecked Sendable {
  // Sendable: `state` has a lock; `membership` is guarded by the queue's lock; the rest
  // never changes.

  /// A closure that is called with the settled task.
  struct Handler {
    /// Where the closure runs; `nil` for the common context of the task's handlers.
    var context: ContextReference?
    let body: (AnyFuture) -> Void
  }

  /// The place in the queue's list of tasks, and between the queue's barriers.
  struct Membership {
    var index = -1
    var epoch = 0
  }

  let state = Lock(State())
  /// Guarded by the lock of the queue.
  @exclusivity(unchecked) final var membership = Membership()
  /// The number of downstream operators that are in no queue.
  let branches = Atomic<Int>(0)

  @usableFromInline
  init() {}

  // MARK: Hooks for kinds of tasks

  /// Does the work.
  func execute(_ task: AnyFuture) {}
  /// Calls the `finished` hook of subclasses.
  func callFinished(_ task: AnyFuture) {}
  /// Whether a subclass may override the `finished` hook.
  var hasHook: Bool { true }
  /// Calls the `willEnqueue` hook of subclasses.
  func callWillEnqueue(_ task: AnyFuture) {}
  /// The task with its types, for observers, conditions, delegates and groups.
  func asTask(_ task: AnyFuture) -> any ProducerTaskProtocol {
    fatalError("Only cores of typed tasks are made.")
  }
  /// Settles the task with an error of the library.
  @discardableResult
  func fail(_ task: AnyFuture, _ error: any Error, from origin: SettlementOrigin = .outside) -> Bool
  {
    task.settle(failure: error, from: origin)
  }

  /// Whether the task is an operator.
  ///
  /// An operator settles at once when it is cancelled, and holds no slot longer than its
  /// closure runs.
  var isOperator: Bool { false }
  /// Whether the task has the engine's kind of upstream: one task that it waits for from
  /// the beginning.
  var hasUpstream: Bool { false }
  /// What the progress of an operator is made of; `nil` for a task that only reports.
  @usableFromInline
  func progressParts(of task: AnyFuture) -> ProgressParts? { nil }
  /// Whether the operator's closure is called for this outcome.
  func acts(on outcome: Outcome) -> Bool { true }
  /// Settles an operator like its upstream, whose outcome the operator does not act on.
  func pass(_ task: AnyFuture, _ source: AnyFuture) {}
  /// The task or future that an operator's closure made has settled.
  func innerHasSettled(_ task: AnyFuture, _ source: AnyFuture) {}
  /// Whether the return of the work ends a task that was asked to cancel.
  var endsWhenCancelledWorkReturns: Bool { true }
  /// The task was asked to cancel while it executes.
  func workIsAskedToCancel(_ task: AnyFuture) {}
  /// The task has settled; called before any handler or waiter is told.
  func taskHasSettled(_ task: AnyFuture) {}
  /// `execute()` has returned.
  func workHasReturned(_ task: AnyFuture) {}
  /// A part of the task has settled.
  func partHasSettled(_ task: AnyFuture, _ part: AnyFuture) {}
  /// The parts that the task waits for.
  var parts: [AnyFuture] { [] }
  /// The first parts that wait for the task to execute.
  ///
  /// - Parameter limit: How many, at most.
  func partsThatWait(limit: Int) -> [AnyFuture] { [] }
  /// Whether the task can have parts.
  var hasParts: Bool { false }
  /// Removes and returns all parts, for a release without recursion.
  func takeParts() -> [AnyFuture] { [] }
  /// Whether the task waits for handlers of a part, and these wait for the queue.
  func needsHandlers(on queue: OperationQueue) -> Bool { false }

  // MARK: Queries

  /// Whether the task continues although its last consumer has left.
  ///
  /// Operators that are in no queue yet want the value too. A task that the user added to
  /// a queue continues without its downstream operators and consumers.
  @usableFromInline
  final func isStillWanted(_ future: AnyFuture, without leaver: AnyFuture?) -> Bool {
    branches.load(ordering: .relaxed) > 0 || (leaver?.taskCore != nil && isExplicit)
  }

  /// Whether the user has put the task in its queue, or in a group that has not begun.
  ///
  /// A group that has begun is a consumer of its members.
  final var isExplicit: Bool {
    state.withLock { $0.awaitsGroup || ($0.machine.wasEnqueued && !$0.isImplicit) }
  }

  final var phase: TaskStateMachine.Phase { state.withLock { $0.machine.phase } }
  final var isCancelRequested: Bool { state.withLock { $0.machine.isCancelRequested } }
  final var conditions: [AnyCondition] { state.withLock { $0.extras?.conditions ?? [] } }
  final var observers: [any TaskObserver] { state.withLock { $0.extras?.observers ?? [] } }
  final var dependencies: [Operation] {
    state.withLock { $0.extras?.dependencies.operations ?? [] }
  }
  final var sources: [AnyFuture] { state.withLock { $0.extras?.sources ?? [] } }
  final var claim: CategoryClaim? { state.withLock { $0.extras?.claim } }
  final var home: TaskQueue? { state.withLock { $0.home } }

  /// The upstreams of an operator.
  final func upstreams(of task: AnyFuture) -> [AnyFuture] {
    if hasUpstream { return task.upstreamFuture.map { [$0] } ?? [] }
    return isOperator ? sources : []
  }

  func stateDescription(_ task: AnyFuture) -> String {
    if task.isSettled {
      return switch task.outcome {
      case .success: "succeeded"
      case .cancelled: "cancelled"
      default: "failed: \(task.unseenError.map { "\($0)" } ?? "")"
      }
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

  /// The tasks that run before this one; empty if an earlier task is about to begin.
  private final func precedingDescription(of task: AnyFuture) -> String {
    let names = awaitedDescription(of: task)
    return names.isEmpty ? "" : " after \(names)"
  }

  /// The names of the first few operations that the task waits for.
  ///
  /// Tasks that are in no queue are marked.
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
