import Foundation
import Futures

// The end of a task is a *conclusion*, in this order:
// 1. The task's own waits, its condition check and its unused claim end.
// 2. The cancellation is told, if it has not been told.
// 3. Handlers, assignments, the `finished` hook, observers and the queue's delegate run.
// 4. The slot becomes free.
// 5. Handlers that were added after step 3 run, until there are none.
// 6. The engine tells the waiters.
//
//   none ── settled ──▶ pending ── the work loop has done all of it ──▶ done
//    └──── settled, nothing to call ──────────────────────────────────▶ done

extension TaskCore {
  enum Conclusion { case none, pending, done }

  private enum Plan {
    case hold
    case deliver
    /// User code has to run first.
    case conclude(Leftovers)
    /// No user code has to run.
    case finish(Leftovers?, Place)
  }

  /// What a task releases when it has ended.
  private struct Leftovers {
    let waits: [Wait]
    let check: ConditionCheck?
    /// The claim of a task that has not executed.
    let claim: CategoryClaim?
    let wasEnqueued: Bool
  }

  /// The queue that a task is in, and the resources that it holds.
  struct Place {
    /// The queue, until the task has concluded and its work has returned.
    var home: TaskQueue?
    var slot: BatchOperation?
    var claim: CategoryClaim?
    /// Whether the work has returned too.
    var isOver = false
  }

  @usableFromInline
  final func mayDeliver(_ task: AnyFuture, in loop: WorkLoop) -> Bool {
    // Before any thread can find the task concluded, and then stop the recorder.
    if TraceRecorder.isOn { TraceRecorder.taskEnds(task) }
    // Released between the steps of the work loop: conditions and dependencies are user
    // objects.
    var released: (conditions: [AnyCondition], dependencies: DependencyList)?
    defer {
      if let released {
        for dependency in released.dependencies.all { dependency.stopWatching() }
        loop.discard(released)
      }
    }
    let plan: Plan = state.withLock { state in
      switch state.conclusion {
      case .done: return .deliver
      case .pending: return .hold
      case .none: break
      }
      let wasEnqueued = state.machine.isEnqueued || state.home != nil || state.isForeign
      guard state.machine.end() else { return .hold }
      let isQuiet = state.isQuiet && !hasHook && state.home?.isObserved != true
      if isQuiet, state.extras == nil, wasEnqueued {
        state.conclusion = .done
        return .finish(nil, state.conclude())
      }
      let leftovers = Leftovers(
        waits: state.takeWaits(), check: state.extras?.check.take(),
        claim: state.machine.wasExecuting ? nil : state.extras?.claim, wasEnqueued: wasEnqueued)
      if let extras = state.extras, !extras.conditions.isEmpty || !extras.dependencies.isEmpty {
        released = (extras.conditions, extras.dependencies)
        extras.conditions = []
        extras.dependencies = DependencyList()
      }
      state.conclusion = isQuiet ? .done : .pending
      return isQuiet ? .finish(leftovers, state.conclude()) : .conclude(leftovers)
    }
    switch plan {
    case .deliver: return true
    case .hold: return false
    case .finish(let leftovers, let place):
      if let leftovers { letGo(task, leftovers) } else { taskHasSettled(task) }
      leave(place, task)
      return true
    case .conclude(let leftovers):
      letGo(task, leftovers)
      loop.runInline(.handler(of: task, reading: task, Self.conclusion))
      return false
    }
  }

  private static let conclusion = Work { task, _ in
    task.taskCore?.conclude(task)
  }

  private final func letGo(_ task: AnyFuture, _ leftovers: Leftovers) {
    for wait in leftovers.waits { wait.withdraw() }
    leftovers.check?.abandon()
    if let claim = leftovers.claim { CategoryTable.leave(claim) }
    if !leftovers.wasEnqueued { leaveUnenqueuedUpstream(task) }
    if isOperator, !hasUpstream { WorkLoop.current.discard(state.withLock { $0.takeSources() }) }
    taskHasSettled(task)
  }

  /// An operator that is in no queue does not wait for its upstream yet, but is already a
  /// reason for the upstream to run.
  private final func leaveUnenqueuedUpstream(_ task: AnyFuture) {
    guard isOperator else { return }
    for source in upstreams(of: task) {
      guard let core = source.taskCore else { continue }
      let left = core.branches.wrappingSubtract(1, ordering: .relaxed).newValue
      if task.outcome != .success, left <= 0, !core.isExplicit, !source.isWanted {
        source.cancel()
      }
    }
  }

  private final func conclude(_ task: AnyFuture) {
    let tellsCancellation = state.withLock { state in
      // A task that was asked to cancel may end with the reason for the cancellation.
      let isCancelled =
        task.outcome == .cancelled
        || (task.outcome == .failure && state.machine.isCancelRequested)
      return isCancelled && state.machine.tellAtEnd()
    }
    if tellsCancellation { tellCancellation(task) }
    callHandlers(task)
    callFinished(task)
    for observer in observers { observer.taskDidFinish(asTask(task)) }
    // Handlers that were added meanwhile.
    while callHandlers(task) {}
    leave(state.withLock { $0.conclude() }, task)
    // A handler that is added while these are called waits for them.
    while let (handlers, receiver) = state.withLock({ $0.takeHandlersOrEnd() }) {
      call(handlers, task, on: receiver)
    }
    let listeners = state.withLock { $0.takeListeners() }
    // Released here, outside the lock.
    withExtendedLifetime(listeners) {}
    WorkLoop.current.resumeDelivery(of: task)
  }

  /// Calls the handlers; `false` if there were none.
  @discardableResult
  private final func callHandlers(_ task: AnyFuture) -> Bool {
    let (handlers, receiver) = state.withLock { ($0.takeHandlers(), $0.receiver) }
    if handlers.isEmpty { return false }
    call(handlers, task, on: receiver)
    return true
  }

  /// Calls handlers on their contexts.
  ///
  /// - Parameter receiver: The context of the handlers that have no context of their own.
  ///   These handlers run in one slot of it, one after the other.
  /// - Parameter isLate: Whether the waiters have been told. They do not wait for such handlers.
  final func call(
    _ handlers: [Handler], _ task: AnyFuture, on receiver: ContextReference, isLate: Bool = false
  ) {
    var own: [Handler] = []
    var common: [Handler] = []
    for handler in handlers {
      // `OperationQueue.main` and `DispatchQueue.main` are one context.
      let isCommon = handler.context.map { Self.isOne($0, receiver) } ?? true
      if isCommon { common.append(handler) } else { own.append(handler) }
    }
    if !common.isEmpty { run(common[...], task, on: receiver, isLate) }
    var rest = own[...]
    while let context = rest.first?.context {
      let count =
        1 + rest.dropFirst().prefix { $0.context.map { Self.isOne($0, context) } == true }.count
      run(rest.prefix(count), task, on: context, isLate)
      rest = rest.dropFirst(count)
    }
  }

  /// Whether handlers on the two contexts run one after the other.
  private static func isOne(_ a: ContextReference, _ b: ContextReference) -> Bool {
    if case (.inline, .inline) = (a, b) { return true }
    return a.isSame(as: b) || (a.isMain && b.isMain)
  }

  private final func run(
    _ handlers: ArraySlice<Handler>, _ task: AnyFuture, on context: ContextReference,
    _ isLate: Bool
  ) {
    if case .inline = context {
      for handler in handlers { handler.body(task) }
      return
    }
    let handOver = isLate ? nil : HandOver(self, to: context.isMain ? .main : context.queue)
    // Sendable: handed to a context, and not used here any more.
    nonisolated(unsafe) let handlers = handlers
    let work = Work { task, _ in
      for handler in handlers { handler.body(task) }
      handOver?.end()
    }
    WorkLoop.current.handOffLater(.handler(of: task, reading: task, work), to: context)
  }

  /// Handlers that were handed to a context.
  ///
  /// The hand-over ends when the handlers have run, or when the context has dropped them.
  private final class HandOver: Sendable {
    private let core: TaskCore
    private let queue: OperationQueue?
    private let isOver = Atomic<Bool>(false)

    init(_ core: TaskCore, to queue: OperationQueue?) {
      self.core = core
      self.queue = queue
      core.state.withLock { state in
        state.more.handedOver += 1
        if let queue { state.more.queuesOfHandlers.append(queue) }
      }
    }

    deinit { end() }

    func end() {
      if isOver.exchange(true, ordering: .acquiringAndReleasing) { return }
      let afterwards = core.state.withLock { state -> [@Sendable () -> Void] in
        let extras = state.more
        extras.handedOver -= 1
        if let index = extras.queuesOfHandlers.lastIndex(where: { $0 === queue }) {
          extras.queuesOfHandlers.remove(at: index)
        }
        guard extras.handedOver == 0 else { return [] }
        defer { extras.afterwards = [] }
        return extras.afterwards
      }
      for body in afterwards { body() }
    }
  }

  /// The queues for which handlers of the task wait.
  final var queuesOfHandlers: [OperationQueue] {
    state.withLock { $0.extras?.queuesOfHandlers ?? [] }
  }

  /// Runs a closure after the handlers of a settled task, on whatever queue they run.
  final func afterHandlers(_ body: @escaping @Sendable () -> Void) {
    let isTooEarly = state.withLock { state in
      guard let extras = state.extras, extras.handedOver > 0 else { return false }
      extras.afterwards.append(body)
      return true
    }
    if !isTooEarly { body() }
  }

  /// Makes a concluded task leave its queue, and gives back its resources if its work has
  /// returned.
  private final func leave(_ place: Place, _ task: AnyFuture) {
    place.home?.taskHasConcluded(task, self, isOver: place.isOver)
    giveBackResources(of: place)
  }

  /// Gives back the resources of a task whose work has returned after its conclusion.
  final func giveBack(_ place: Place) {
    place.home?.workHasEnded(self)
    giveBackResources(of: place)
  }

  private final func giveBackResources(of place: Place) {
    // The slot first: the next task of a category may need it.
    if let slot = place.slot {
      if hasParts { place.home?.hasGivenBackSlot(self) }
      slot.release()
    }
    guard let claim = place.claim else { return }
    // The closure that holds the slot has yet to return to the queue.
    let isSlotUsed = place.slot?.isFinished == false
    CategoryTable.leave(claim, freeing: isSlotUsed ? place.home?.slots : nil)
  }
}
