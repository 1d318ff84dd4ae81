import Foundation
import Futures

// The way into a queue. From then on the task waits.

extension TaskCore {
  /// Takes the task into a queue, or into a plain operation queue (`nil`).
  ///
  /// `false` if the task was in a queue before or has ended. Otherwise the caller is busy
  /// with the task until it calls `isNoLongerBusy(with:)`.
  final func enqueue(
    _ task: AnyFuture, in queue: TaskQueue?, implicitly isImplicit: Bool
  ) -> Bool {
    // The blockers from the beginning: the enqueuing itself, a barrier, and the upstream.
    let blockers: Int32 = hasUpstream ? 3 : 2
    let (isNew, groupQueue): (Bool, TaskQueue?) = change(
      task, { $0.enqueue(blockers: blockers) }
    ) { state, isNew in
      guard isNew else { return (false, nil) }
      state.home = queue
      state.groupNumber = queue?.groupNumber ?? 0
      state.isPreparing = true
      state.isForeign = queue == nil
      state.isImplicit = isImplicit
      return (true, state.groupQueue.take())
    }
    withExtendedLifetime(groupQueue) {}
    return isNew
  }

  /// The task has become a member of a group that has not begun.
  ///
  /// - Parameter epoch: The number of the last epoch of the group's queue.
  final func waitForGroup(of queue: TaskQueue, epoch: Int) {
    let old = state.withLock { state -> TaskQueue? in
      guard state.machine.phase == .created else { return nil }
      state.awaitsGroup = true
      let new = Int32(clamping: epoch)
      state.groupEpoch = state.groupQueue === queue ? min(new, state.groupEpoch) : new
      defer { state.groupQueue = queue }
      return state.groupQueue
    }
    withExtendedLifetime(old) {}
  }

  /// The number of the epoch that a member of a group enters, until it is in a queue.
  ///
  /// - Parameter queue: The queue of the group.
  final func epochAsMember(in queue: TaskQueue) -> Int? {
    state.withLock { $0.groupQueue === queue ? Int($0.groupEpoch) : nil }
  }

  /// The group that the task is a member of is released, and has never begun.
  final func leaveGroup(of queue: TaskQueue) {
    let old = state.withLock { state -> TaskQueue? in
      guard state.groupQueue === queue else { return nil }
      state.awaitsGroup = false
      return state.groupQueue.take()
    }
    withExtendedLifetime(old) {}
  }

  /// Whether the library enqueued the task because another task needed it, and the user
  /// adds it now; `true` once.
  final func becomesExplicit() -> Bool {
    state.withLock { state in
      defer { state.isImplicit = false }
      return state.isImplicit
    }
  }

  /// Whether the task is, or was, in the queue of a group.
  final func wasPut(inQueueOfGroup queue: TaskQueue) -> Bool {
    state.withLock { $0.groupNumber == queue.groupNumber }
  }

  /// The user has made the task a member of a group, and the group begins.
  final func becomesMember() {
    state.withLock { state in
      state.isMember = true
      state.awaitsGroup = false
    }
  }

  /// Whether the user has made the task a member of a group that has begun.
  final var isMember: Bool { state.withLock { $0.isMember } }

  /// Whether a failure of the task counts as a failure of its group.
  final var countsInGroup: Bool { state.withLock { $0.isMember || !$0.isImplicit } }

  /// Runs the `onEnqueue` closure: the task and its upstreams are about to be put in a
  /// queue.
  final func willBeEnqueued(_ task: AnyFuture) {
    let body = state.withLock { $0.extras?.onEnqueue.take() }
    body?(task)
  }

  /// Sets the closure that runs when the task is put in a queue.
  final func onEnqueue(_ body: @escaping (AnyFuture) -> Void) {
    state.withLock { $0.more.onEnqueue = body }
  }

  /// Starts all waits of a task that is in a queue.
  ///
  /// The last wait that ends lets the task continue.
  ///
  /// - Parameter isBlocked: Whether the task is behind a barrier.
  final func beginWaiting(_ task: AnyFuture, isBlocked: Bool) {
    callWillEnqueue(task)
    // Last: the operator wants the value the whole time.
    defer { leaveBranches(task) }
    let hasExtras = state.withLock { state in
      state.isPreparing = false
      state.areDependenciesCounted = state.extras == nil
      return state.extras != nil
    }
    if hasExtras { prepare(task) }
    if hasUpstream { task.attachToUpstream() }
    // The edges exist now: of several threads that close a cycle, the last one sees it.
    if hasExtras || hasUpstream || hasParts, !waitsForSiblings(task), failIfCircular(task) {
      return
    }
    perform(change(task) { $0.unblock(isBlocked ? 1 : 2) }, task)
  }

  /// The operator is no longer an operator in no queue that wants its upstreams to run.
  ///
  /// Called once, when the operator is in a queue, or is released without one.
  final func leaveBranches(_ task: AnyFuture) {
    guard isOperator else { return }
    if hasUpstream {
      task.upstreamFuture?.taskCore?.branches.wrappingSubtract(1, ordering: .relaxed)
    } else {
      for source in sources { source.taskCore?.branches.wrappingSubtract(1, ordering: .relaxed) }
    }
  }

  /// Starts all waits except the one for the upstream.
  private final func prepare(_ task: AnyFuture) {
    let conditions = conditions
    let prerequisites = conditions.isEmpty ? [] : prepare(task, conditions)
    typealias Waits = (dependencies: [Operation], sources: [AnyFuture], consumed: AnyFuture?)
    let (dependencies, sources, consumed): Waits = state.withLock { state in
      state.areDependenciesCounted = true
      let dependencies = state.extras?.dependencies.operations ?? []
      for _ in dependencies { _ = state.machine.block() }
      // A consumer's producer is among the dependencies.
      let all = state.extras?.sources ?? []
      let sources = isOperator ? all : []
      for _ in sources { _ = state.machine.block() }
      state.openSources = Int32(sources.count)
      return (dependencies, sources, isOperator ? nil : all.first)
    }
    for dependency in dependencies {
      wait(task, for: dependency, as: dependency === consumed ? .consumed : .dependency)
    }
    for source in sources { wait(task, for: source, as: .source) }
    // After the edges to the prerequisites exist: a prerequisite that waits for the task
    // then finds the cycle.
    // A task in a queue of Foundation has no home.
    let queue = prerequisites.isEmpty ? nil : home ?? TaskQueue()
    guard let queue else { return }
    WorkLoop.current.beforeHandlers {
      for prerequisite in prerequisites {
        queue.add(prerequisite, implicitly: true, at: .besides(self))
      }
    }
  }

  /// Notes what the conditions need; returns the tasks that have to run before.
  private final func prepare(_ task: AnyFuture, _ conditions: [AnyCondition]) -> [AnyFuture] {
    let categories = CategoryTable.unique(conditions.flatMap(\.categories))
    let number = categories.isEmpty ? 0 : CategoryTable.nextNumber()
    state.withLock {
      $0.machine.note(conditions: true, categories: !categories.isEmpty)
      if categories.isEmpty { return }
      $0.more.claim = CategoryClaim(
        number: number, categories: categories, slots: $0.home?.slots,
        plainQueue: $0.foreignQueue, task: task)
    }
    let prerequisites = conditions.compactMap { $0.dependency(for: asTask(task)) }
    let dependencies = prerequisites.map { makeDependency(on: $0) }
    state.withLock { state in
      for dependency in dependencies { _ = state.more.dependencies.add(dependency) }
    }
    return prerequisites
  }

  final func produce<T: ProducerTaskProtocol, P: ProducerTaskProtocol>(_ task: T, by producer: P) {
    let (home, observers) = state.withLock { ($0.home, $0.extras?.observers ?? []) }
    for observer in observers { observer.task(producer, didProduce: task) }
    guard let home else {
      task.taskCore?.fail(task, ProducerTaskError.notEnqueued(task: task.taskName))
      return
    }
    home.add(task, implicitly: false, at: producer.taskCore.map { .besides($0) } ?? .last)
  }
}
