import Foundation
import Futures

/// The core of a group: its members, and the end of the group.
///
/// The members wait here, in no queue, until the group executes. So a group that never
/// executes holds no category and blocks no other task.
///
///   collecting ── execute ──▶ running ── the last member has ended ──▶ closed
///       └──── settled otherwise: the waiting members are cancelled ──▶ closed
///
/// A group that a timeout has ended keeps its slot and its categories until the members in
/// its queue have ended. It cannot cancel the members in other queues, and these may need
/// its slot or its categories: it leaves them.
final class GroupCore<Output: Sendable, Failure: Error>: TypedTaskCore<Output, Failure>,
  TaskQueueOwner, @unchecked Sendable
{
  // Sendable: `members` has a lock; `weakTask` is written before the group is shared.
  private enum Phase { case collecting, running, closed }

  private struct Members {
    var phase = Phase.collecting
    var waiting: [GroupEntry] = []
    /// Whether the user has suspended the queue; until the group begins, it is suspended in any
    /// case.
    var isSuspended = false
    /// The waits for the members that run in other queues.
    var elsewhere: [ObjectIdentifier: SettlementWaiter] = [:]
    /// The number of members that have not ended.
    ///
    /// It includes one for the beginning, until all members are in the queue, and one for
    /// `execute()`, in which the group may still get a result.
    var remaining = 2
    /// The group, from the beginning until nothing remains, if it then has something to give
    /// back: in the end only a barrier may remain.
    var itself: GroupCore?
    /// Whether `execute()` has returned.
    var hasReturned = false
    /// Whether the group keeps its slot and its categories until the members have ended.
    var keepsPlace = false
    /// The result that the group itself was finished with.
    var ownResult: Typed.Produced?
    /// Whether that result is only there because of a cancellation.
    var isResultOfCancellation = false
    /// The result of the decisive member.
    var result: Typed.Produced?
    var firstFailure: ProducerTaskProtocolError<Failure>?
    /// The member whose result is the group's result, until it has ended.
    ///
    /// Afterwards a new member may have its address.
    var decisive: ObjectIdentifier?

    /// Notes that a member has ended; returns whether it is the decisive one.
    mutating func hasEnded(_ member: AnyFuture) -> Bool {
      guard decisive == ObjectIdentifier(member) else { return false }
      decisive = nil
      return true
    }

    /// Closes the group after its last member has ended.
    ///
    /// Returns the group's result, unless the group has settled otherwise.
    mutating func close() -> Typed.Produced? {
      guard phase != .closed else { return nil }
      phase = .closed
      if let result = ownResult ?? result { return result }
      if let firstFailure { return .failure(firstFailure) }
      if let nothing = () as? Output { return .success(nothing) }
      return .failure(.internal(ProducerTaskError.executionFailure))
    }
  }

  let innerQueue: TaskQueue
  private let members = Lock(Members())
  /// The queues for which handlers of settled members wait, and the number of these members.
  private let queuesOfMembers = Lock<[ObjectIdentifier: (queue: OperationQueue, count: Int)]>([:])
  // Sendable: written by `setUp`, before the group is shared.
  private nonisolated(unsafe) weak var weakTask: AnyFuture?

  init(qos: QualityOfService, underlyingQueue: DispatchQueue?) {
    innerQueue = TaskQueue(qos: qos, underlyingQueue: underlyingQueue)
    super.init()
  }

  /// Called once, at the end of the group's initialiser.
  func setUp(
    _ task: AnyFuture, _ tasks: [any ProducerTaskProtocol], produced: AnyFuture?
  ) {
    weakTask = task
    innerQueue.name = "\(task.taskName)-inner"
    innerQueue.owner = self
    innerQueue.setSuspended(true)
    innerQueue.awaitMembers()
    var all = tasks.map { $0 as AnyFuture }
    if let produced, !all.contains(where: { $0 === produced }) { all.append(produced) }
    members.withLock { members in
      members.decisive = produced.map { ObjectIdentifier($0) }
      members.waiting = all.map { GroupEntry(task: $0, epoch: 0) }
    }
    for member in all { member.taskCore?.waitForGroup(of: innerQueue, epoch: 0) }
  }

  var ownerTask: AnyFuture? { weakTask }
  var hasBegun: Bool { members.withLock { $0.phase != .collecting } }
  private var isClosed: Bool { members.withLock { $0.phase == .closed } }

  override var endsWhenCancelledWorkReturns: Bool { false }

  override var parts: [AnyFuture] {
    innerQueue.tasks
      + members.withLock { Array($0.elsewhere.values) }.compactMap(\.source)
      .filter { !$0.isSettled }
  }

  override func partsThatWait(limit: Int) -> [AnyFuture] {
    Array(members.withLock { $0.waiting.madeWith }.prefix(limit))
  }

  override var hasParts: Bool { true }

  override func takeParts() -> [AnyFuture] {
    let hasBegun = hasBegun
    let (waiting, elsewhere) = takeMembers()
    // The group is released: nothing in its queue can run any more.
    if !hasBegun {
      cancelMembers(resuming: true)
      for member in waiting.madeWith { member.taskCore?.leaveGroup(of: innerQueue) }
    }
    return waiting.map(\.task) + elsewhere.compactMap(\.source)
  }

  /// Closes the group; returns what it still waited for.
  private func takeMembers() -> (waiting: [GroupEntry], elsewhere: [SettlementWaiter]) {
    members.withLock { members in
      defer {
        members.phase = .closed
        members.waiting = []
        members.elsewhere = [:]
      }
      return (members.waiting, Array(members.elsewhere.values))
    }
  }

  // MARK: Members

  /// Adds a member, now or when the group begins.
  func add(_ member: AnyFuture) {
    let epoch = innerQueue.state.withLock { $0.lastEpoch }
    let phase = members.withLock { members in
      if members.phase == .collecting {
        members.waiting.append(GroupEntry(task: member, epoch: epoch))
      }
      return members.phase
    }
    switch phase {
    case .collecting:
      member.taskCore?.waitForGroup(of: innerQueue, epoch: epoch)
      // The group, or a group around it, may wait for the member before it can begin.
      if let weakTask, Graph.closesCycle(member, waitingFor: weakTask) {
        let path = Graph.cycle(through: member).map(\.taskName)
        member.taskCore?.fail(member, ProducerTaskError.cycle(path: path))
      }
    case .running:
      // A member that runs in another queue may wait for the group.
      if start(member, at: .last), let weakTask { failIfCircular(weakTask, waitingFor: member) }
    case .closed:
      member.taskCore?.fail(
        member, ProducerTaskError.groupFinished(group: weakTask?.taskName ?? ""))
    }
  }

  /// The group executes: starts the members.
  func begin() {
    let goesOn = workGoesOn()
    let waiting: [GroupEntry]? = members.withLock { members in
      guard members.phase == .collecting else { return nil }
      members.phase = .running
      members.itself = goesOn ? self : nil
      members.keepsPlace = goesOn
      defer { members.waiting = [] }
      return members.waiting
    }
    guard let waiting else {
      if goesOn { workHasEnded() }
      return
    }
    resumeQueue()
    var isAnyElsewhere = false
    for entry in waiting {
      let task = entry.task
      guard let epoch = entry.epoch else {
        wait(for: task)
        // It may wait for the group.
        if let core = task.taskCore, !core.waitsForSiblings(task) { core.failIfCircular(task) }
        continue
      }
      if isClosed, task.taskCore?.phase == .created {
        // A timeout has ended the group meanwhile, and has not found the member.
        task.cancel()
      } else if start(task, at: .epoch(epoch)) {
        isAnyElsewhere = true
      }
    }
    innerQueue.hasMembers()
    if isAnyElsewhere, let weakTask { failIfCircular(weakTask) }
    oneHasEnded()
  }

  func willSetSuspended(_ isSuspended: Bool) -> Bool {
    members.withLock { members in
      members.isSuspended = isSuspended
      return members.phase != .collecting
    }
  }

  /// Resumes the queue of a group that begins, unless the user has suspended it.
  private func resumeQueue() {
    // The user may change it meanwhile, or a timeout may end the group.
    SlotUse.copy({ staysSuspended }, innerQueue.setSuspended)
  }

  var staysSuspended: Bool {
    members.withLock { $0.isSuspended && $0.phase == .running }
  }

  override func workHasReturned(_ task: AnyFuture) {
    // A subclass has finished the group, and has not started the members.
    let result = members.withLock { members in
      members.hasReturned = true
      return members.phase == .collecting && members.ownResult != nil ? members.close() : nil
    }
    if let result { typed(task).settle(with: result) }
    oneHasEnded()
  }

  func willAdd(barrier: Operation) {
    let isInTime = members.withLock { members in
      if members.phase != .closed { members.remaining += 1 }
      return members.phase != .closed
    }
    // The group does not end before the barrier has run. It may be released before it begins.
    if isInTime { _ = OperationObserver(of: barrier) { [weak self] in self?.oneHasEnded() } }
  }

  /// Starts a member; `true` if it runs in another queue.
  private func start(_ member: AnyFuture, at place: TaskQueue.Place) -> Bool {
    guard let core = member.taskCore else { return false }
    core.becomesMember()
    // Another queue may take the member at this moment.
    if core.phase == .created, innerQueue.add(member, implicitly: true, at: place) {
      return false
    }
    // A member may have come into the queue before, as with its consumer. Another thread may
    // be putting it there at this moment, so the group waits for it here, too.
    if core.wasPut(inQueueOfGroup: innerQueue) {
      wait(for: member)
      return false
    }
    // The member is in another queue or has ended: the group waits for it there.
    return wait(for: member, isElsewhere: true)
  }

  /// Counts a member and waits for it; `false` if the group has ended, or waits already for
  /// this member elsewhere.
  @discardableResult
  private func wait(for member: AnyFuture, isElsewhere: Bool = false) -> Bool {
    guard let weakTask else { return false }
    let waiter = SettlementWaiter(weakTask, for: member, as: .part)
    let isInTime = members.withLock { members in
      guard members.phase != .closed else { return false }
      if isElsewhere {
        // A member that was added twice is told of once.
        let id = ObjectIdentifier(member)
        if members.elsewhere[id] != nil { return false }
        members.elsewhere[id] = waiter
      }
      members.remaining += 1
      return true
    }
    if isInTime { waiter.start() }
    // The group may have ended, and left the member, meanwhile.
    if waiter.isClaimed { waiter.withdraw(cancelling: false) }
    return isInTime
  }

  func willAdd(_ member: AnyFuture) -> Bool {
    let waits = members.withLock { members in
      // The wait begins with the group: it would keep a group that is dropped before.
      if members.phase == .collecting {
        members.waiting.append(GroupEntry(task: member, epoch: nil))
      }
      return members.phase == .collecting
    }
    guard waits || wait(for: member) else { return false }
    // A cancellation that comes after this line finds the member in the queue.
    if isCancelRequested { member.cancel() }
    return true
  }

  func memberDidFinish(_ task: any ProducerTaskProtocol) {
    (weakTask as? any GroupHook)?.taskDidFinish(task)
  }

  override func partHasSettled(_ task: AnyFuture, _ member: AnyFuture) {
    guard let core = member.taskCore else { return }
    let queues = core.queuesOfHandlers
    if queues.isEmpty { return core.afterHandlers { self.memberHasEnded(member) } }
    count(queues, by: 1)
    core.afterHandlers {
      self.count(queues, by: -1)
      self.memberHasEnded(member)
    }
  }

  /// Counts a member whose handlers wait for some queues, or no longer wait.
  private func count(_ queues: [OperationQueue], by change: Int) {
    queuesOfMembers.withLock { all in
      for queue in queues {
        let id = ObjectIdentifier(queue)
        let count = (all[id]?.count ?? 0) + change
        all[id] = count > 0 ? (queue, count) : nil
      }
    }
  }

  /// The group also needs the queues for which handlers of its members wait.
  override func needsHandlers(on queue: OperationQueue) -> Bool {
    queuesOfMembers.withLock { $0[ObjectIdentifier(queue)] != nil }
  }

  /// A member has settled, and its handlers have run.
  private func memberHasEnded(_ member: AnyFuture) {
    let (isDecisive, waiter) = members.withLock { members in
      (members.hasEnded(member), members.elsewhere.removeValue(forKey: ObjectIdentifier(member)))
    }
    // The queue of the member does not know the group.
    if waiter != nil, let core = member.taskCore { memberDidFinish(core.asTask(member)) }
    let result = isDecisive ? typed(member).settledProduced : nil
    // A failure upstream of a member does not count: the member may recover from it.
    let counts = member.taskCore?.countsInGroup == true
    let failure = counts ? member.anyError.map { ProducerTaskProtocolError<Failure>(of: $0) } : nil
    members.withLock { members in
      if let result, members.result == nil { members.result = result }
      if members.firstFailure == nil { members.firstFailure = failure }
    }
    oneHasEnded()
  }

  private func oneHasEnded() {
    // Closed in the same step: otherwise a member that comes in between would end the
    // group a second time.
    typealias End = (result: Typed.Produced?, keepsPlace: Bool, itself: GroupCore?)
    let end: End? = members.withLock { members in
      members.remaining -= 1
      guard members.remaining == 0 else { return nil }
      return (members.close(), members.keepsPlace, members.itself.take())
    }
    guard let end else { return }
    if let result = end.result, let weakTask { typed(weakTask).settle(with: result) }
    // A member that a timeout has ended may still work.
    if end.keepsPlace {
      // Without recursion: the queue of the group around may become idle by this.
      innerQueue.whenIdle { WorkLoop.current.call(.end) { self.workHasEnded() } }
    }
  }

  func setUnderlyingQueue(_ queue: DispatchQueue) {
    // Foundation traps when the queue has operations.
    let isInTime = members.withLock { $0.phase == .collecting }
    if isInTime, phase != .executing, innerQueue.operationCount == 0 {
      innerQueue.underlyingQueue = queue
    }
  }

  // MARK: The result

  /// Records a result that is set on the group itself.
  ///
  /// The result is published when all members have ended.
  ///
  /// `false` if the group does not execute yet, or has executed without starting its
  /// members: then the result counts at once.
  func record(_ result: Typed.Produced) -> Bool {
    let isExecuting = phase == .executing
    return members.withLock { members in
      // A subclass may finish the group in `execute()` before it starts the members.
      let isBeginning = members.phase == .collecting && isExecuting && !members.hasReturned
      let isInTime = members.phase == .running || isBeginning
      guard isInTime else { return members.phase == .closed }
      if members.ownResult == nil || members.isResultOfCancellation {
        members.ownResult = result
        members.isResultOfCancellation = false
      }
      return true
    }
  }

  override func workIsAskedToCancel(_ task: AnyFuture) {
    let error = errorOfCancellation(of: task)
    let hasNoMembers = members.withLock { members in
      if members.phase == .collecting, members.hasReturned { return true }
      guard members.ownResult == nil, members.result == nil else { return false }
      members.ownResult = .failure(.internal(error))
      members.isResultOfCancellation = true
      return false
    }
    // A subclass has not started the members: no member will end.
    if hasNoMembers { fail(task, error, from: .outside) } else { cancelMembers() }
  }

  override func taskHasSettled(_ task: AnyFuture) {
    let (waiting, elsewhere) = takeMembers()
    for member in waiting.map(\.task) where member.taskCore?.phase == .created { member.cancel() }
    for waiter in elsewhere where waiter.claim() {
      waiter.withdraw(cancelling: false)
      oneHasEnded()
    }
    // Resumed after that: what waits in the queue must not begin.
    cancelMembers(resuming: true)
  }

  /// Cancels the running members without recursion: groups among them may be nested
  /// deeply.
  private func cancelMembers(resuming isResumed: Bool = false) {
    let queue = innerQueue
    WorkLoop.current.call(.cancellation) {
      queue.cancelAllTasks()
      guard isResumed else { return }
      queue.hasMembers()
      queue.setSuspended(false)
    }
  }
}

/// What a group puts in its queue, or begins to wait for, when it begins.
private struct GroupEntry {
  let task: AnyFuture
  /// The number of the epoch that a member enters: the last one when the group got it; `nil`
  /// for a task that was put in the queue itself.
  let epoch: Int?
}

extension [GroupEntry] {
  /// The members that were not put in the queue: they wait for the group.
  fileprivate var madeWith: [AnyFuture] { filter { $0.epoch != nil }.map(\.task) }
}
