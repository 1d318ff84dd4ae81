import Foundation
import Futures
import Synchronization

// The end of a task is a *conclusion*, in this order: who waits inside the
// library is let go; the cancellation is told, if nobody has; handlers,
// assignments, the hook, observers, the queue's delegate; then the slot is
// free, and the engine tells those who wait.
//
//   none ── settled ──▶ pending ── its turn on the thread ──▶ running ──▶ done
//    └──── settled, nobody to tell ─────────────────────────────────────▶ done

extension TaskCore {
  enum Conclusion { case none, pending, running, done }

  private enum Plan {
    case hold
    case deliver
    /// Somebody is to be told first.
    case conclude(Loot)
    /// Nobody is.
    case finish(Loot?, Place)
  }

  /// What a task that has ended lets go of.
  private struct Loot {
    let waits: [Wait]
    let check: ConditionCheck?
    let ticket: CategoryTicket?
    let conditions: [AnyCondition]
    let dependencies: [Operation]
    let wasEnqueued: Bool
    let edges: WaitGraph.Count
  }

  /// What a task is in, until it has concluded.
  struct Place {
    let home: TaskQueue?
    let slot: Slot?
  }

  @usableFromInline
  final func mayDeliver(_ task: AnyFuture, in loop: WorkLoop) -> Bool {
    let plan: Plan = state.withLock { state in
      switch state.conclusion {
      case .done: return .deliver
      case .pending, .running: return .hold
      case .none: break
      }
      let wasEnqueued = state.machine.isEnqueued || state.home != nil || state.isForeign
      guard state.machine.end() else { return .hold }
      let isQuiet = state.isQuiet && !hasHook && state.home?.isObserved != true
      if isQuiet, state.extras == nil, state.forwardEdges == 0, wasEnqueued {
        state.conclusion = .done
        return .finish(nil, state.takePlace())
      }
      let loot = Loot(
        waits: state.waits, check: state.check, ticket: state.ticket,
        conditions: state.conditions, dependencies: state.dependencies, wasEnqueued: wasEnqueued,
        edges: state.takeEdges())
      state.waits = []
      state.check = nil
      state.ticket = nil
      state.dependencies = []
      state.conclusion = isQuiet ? .done : .pending
      return isQuiet ? .finish(loot, state.takePlace()) : .conclude(loot)
    }
    switch plan {
    case .deliver: return true
    case .hold: return false
    case .finish(let loot, let place):
      if let loot { letGo(task, loot) } else { taskHasSettled(task) }
      place.home?.taskHasConcluded(task, self)
      place.slot?.release()
      return true
    case .conclude(let loot):
      letGo(task, loot)
      loop.runInline(.handler(of: task, reading: task, Self.conclusion))
      return false
    }
  }

  @usableFromInline
  final func isTold(_ task: AnyFuture) -> Bool {
    let thread = ObjectIdentifier(WorkLoop.current)
    return state.withLock { $0.conclusion == .done || $0.concluder == thread }
  }

  private static let conclusion = Work { task, _ in
    task.taskCore?.conclude(task)
  }

  private final func letGo(_ task: AnyFuture, _ loot: Loot) {
    for wait in loot.waits { wait.withdraw() }
    loot.check?.abandon()
    if let ticket = loot.ticket { CategoryLine.leave(ticket) }
    WaitGraph.forget(loot.edges)
    if !loot.wasEnqueued { leaveUnenqueuedUpstream(task) }
    taskHasSettled(task)
  }

  /// An operator that is in no queue does not yet wait for its upstream, and
  /// still is the reason for it to run.
  private final func leaveUnenqueuedUpstream(_ task: AnyFuture) {
    guard isOperator else { return }
    for source in upstreams(of: task) {
      guard let core = source.taskCore else { continue }
      let left = core.branches.wrappingSubtract(1, ordering: .relaxed).newValue
      if task.outcome == .cancelled, left <= 0, !source.isWanted { source.cancel() }
    }
  }

  private final func conclude(_ task: AnyFuture) {
    let thread = ObjectIdentifier(WorkLoop.current)
    let tellsCancellation = state.withLock { state in
      state.conclusion = .running
      state.concluder = thread
      // (One that was asked to cancel may end with the reason for that.)
      let isCancelled =
        task.outcome == .cancelled
        || (task.outcome == .failure && state.machine.isCancelRequested)
      return isCancelled && state.machine.tellAtEnd()
    }
    if tellsCancellation { tellCancellation(task) }
    callHandlers(task)
    callFinished(task)
    for observer in observers { tellFinish(observer, task) }
    // (Those that have come meanwhile.)
    while callHandlers(task) {}
    leaveQueue(task)
    let (handlers, afterwards, receiver, observers) = state.withLock { state in
      state.conclusion = .done
      state.concluder = nil
      defer {
        state.handlers = []
        state.assignments = []
        state.afterwards = []
        state.observers = []
        state.cancellationHandlers = []
      }
      return (
        state.handlers + state.assignments, state.afterwards, state.receiver,
        (state.observers, state.cancellationHandlers)
      )
    }
    // Released here, outside the lock.
    withExtendedLifetime(observers) {}
    // (Behind the handlers, on their queue.)
    if !handlers.isEmpty || !afterwards.isEmpty {
      Self.call(handlers, task, on: receiver) { for body in afterwards { body() } }
    }
    WorkLoop.current.resumeDelivery(of: task)
  }

  /// `false` if there were none.
  @discardableResult
  private final func callHandlers(_ task: AnyFuture) -> Bool {
    let (handlers, receiver) = state.withLock { state in
      defer {
        state.handlers = []
        state.assignments = []
      }
      return (state.handlers + state.assignments, state.receiver)
    }
    if handlers.isEmpty { return false }
    Self.call(handlers, task, on: receiver) {}
    return true
  }

  static func call(
    _ handlers: [Handler], _ task: AnyFuture, on context: ContextReference,
    _ then: @escaping () -> Void
  ) {
    switch context {
    case .dispatchQueue(let queue):
      // Sendable: handed over to the queue, and not touched here any more.
      nonisolated(unsafe) let (handlers, then) = (handlers, then)
      queue.async {
        for handler in handlers { handler(task) }
        then()
      }
    case .operationQueue(let queue):
      // Sendable: handed over to the queue, and not touched here any more.
      nonisolated(unsafe) let (handlers, then) = (handlers, then)
      queue.addOperation {
        for handler in handlers { handler(task) }
        then()
      }
    case .inline, .custom:
      for handler in handlers { handler(task) }
      then()
    }
  }

  private final func leaveQueue(_ task: AnyFuture) {
    let place = state.withLock { $0.takePlace() }
    place.home?.taskHasConcluded(task, self)
    place.slot?.release()
  }
}
