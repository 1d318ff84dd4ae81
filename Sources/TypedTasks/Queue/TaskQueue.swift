import Foundation
import Futures
import Synchronization

/// The queue that tasks run in.
///
/// ```swift
/// let queue = TaskQueue(name: "com.example.images", qos: .utility, maxConcurrentTasks: 2)
/// queue.addTask(BlockTask<CocoaError> { task, finish in finish(.success) })
/// ```
///
/// It is an `OperationQueue`: suspension, limits, priorities and quality of
/// service are its own, and operations of any kind can be added. A task that is
/// added as an operation is added as a task. A task that waits for
/// dependencies, conditions or its turn in a category takes no slot, and costs
/// the queue nothing, however many there are; so `operationCount` counts only
/// the first few of those, and ``taskCount`` counts all.
///
/// The queue need not be kept: it stays as long as it has something to do.
open class TaskQueue: OperationQueue, @unchecked Sendable {
  // Sendable: everything mutable is in `state`, under its lock.
  struct State {
    var members: [AnyFuture?] = []
    var count = 0
    /// Between two barriers each; only the first one runs.
    var epochs = [Epoch()]
    var firstEpoch = 0
    var earlySlots = 0
    var delegate: WeakDelegate?
    var idleWaiters: [DispatchSemaphore] = []
  }

  /// Everything that came between two barriers.
  struct Epoch {
    /// How many tasks and operations of it have not finished.
    var pending = 0
    /// What was ready before its time.
    var held: [Held] = []
    /// What ends it.
    var barrier: (@Sendable () -> Void)?
    var isBarrierRunning = false
  }

  enum Held {
    case task(Job, TaskCore)
    case operation(Operation)
  }

  final class WeakDelegate: @unchecked Sendable {
    // Sendable: never written after init.
    private(set) weak var delegate: (any TaskQueueDelegate)?
    init(_ delegate: any TaskQueueDelegate) { self.delegate = delegate }
  }

  let state = Lock(State())
  /// Whether anybody is told of the tasks that come and go.
  private let isWatched = Atomic<Bool>(false)
  private let hasBarrier = Atomic<Bool>(false)
  /// The group that the queue belongs to.
  // Sendable: written by the group that makes the queue, before it shows it.
  private nonisolated(unsafe) weak var weakOwner: (any TaskQueueOwner)?

  /// How many waiting tasks are counted by `operationCount`.
  private static let earlySlotLimit = 8

  /// Makes a queue.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - qos: The quality of service of the tasks that have none of their own.
  ///   - maxConcurrentTasks: How many may execute at a time; as many as the
  ///     system sees fit by default. A number below one counts as one, but for
  ///     the default.
  ///   - underlyingQueue: The dispatch queue that the tasks run on.
  ///   - startSuspended: Whether nothing starts before `isSuspended` is set to
  ///     `false`.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    maxConcurrentTasks: Int = OperationQueue.defaultMaxConcurrentOperationCount,
    underlyingQueue: DispatchQueue? = nil, startSuspended: Bool = false
  ) {
    super.init()
    if let name { self.name = name }
    qualityOfService = qos
    maxConcurrentTaskCount = maxConcurrentTasks
    if let underlyingQueue { self.underlyingQueue = underlyingQueue }
    if startSuspended { isSuspended = true }
  }

  /// Makes a queue with the defaults.
  public override convenience init() { self.init(name: nil) }

  /// For the queue of a group.
  init(qos: QualityOfService, underlyingQueue: DispatchQueue?) {
    super.init()
    qualityOfService = qos
    if let underlyingQueue { self.underlyingQueue = underlyingQueue }
  }

  // MARK: Properties

  /// Who is told of the tasks that come and go; it is not kept.
  open weak var delegate: (any TaskQueueDelegate)? {
    get { state.withLock { $0.delegate }?.delegate }
    set {
      let box = newValue.map(WeakDelegate.init)
      let last = state.withLock { state in
        defer { state.delegate = box }
        return state.delegate
      }
      isWatched.store(box != nil || weakOwner != nil, ordering: .releasing)
      withExtendedLifetime(last) {}
    }
  }

  /// How many tasks may execute at a time.
  ///
  /// `OperationQueue.defaultMaxConcurrentOperationCount` leaves it to the
  /// system; any other number below one counts as one.
  open var maxConcurrentTaskCount: Int {
    get { maxConcurrentOperationCount }
    set {
      let isDefault = newValue == OperationQueue.defaultMaxConcurrentOperationCount
      maxConcurrentOperationCount = isDefault ? newValue : max(newValue, 1)
    }
  }

  /// The tasks that have been added and have not finished, in the order in
  /// which they were added.
  public var tasks: [AnyFuture] { state.withLock { $0.members.compactMap { $0 } } }

  /// How many tasks have been added and have not finished.
  public var taskCount: Int { state.withLock { $0.count } }

  // MARK: Adding

  /// Adds a task.
  ///
  /// What is upstream of an operator, and in no queue yet, is added with it. A
  /// task that is, or was, in a queue is not added again: it fails with
  /// ``ProducerTaskError/alreadyEnqueued(task:)`` unless it executes or has
  /// finished, and the delegate is told.
  ///
  /// - Parameter task: The task.
  open func addTask<T: ProducerTaskProtocol>(_ task: T) { add(task, implicitly: false) }

  /// Adds a task later.
  ///
  /// The queue and the task are kept until then. A task that is cancelled
  /// before is not added.
  ///
  /// - Parameters:
  ///   - task: The task.
  ///   - deadline: When.
  open func addTaskAfter<T: ProducerTaskProtocol>(_ task: T, deadline: DispatchTime) {
    DispatchQueue.global().asyncAfter(deadline: deadline) { self.addTask(task) }
  }

  /// Adds a closure.
  ///
  /// - Parameter block: The closure; it takes a slot while it runs.
  open func addBlock(_ block: @escaping @Sendable () -> Void) {
    addRaw(BlockOperation(block: block))
  }

  // MARK: Foundation's way

  /// Adds an operation; a task is added as by ``addTask(_:)``.
  ///
  /// - Parameter operation: The operation.
  open override func addOperation(_ operation: Operation) {
    if let future = operation as? AnyFuture, future.taskCore != nil {
      add(future, implicitly: false)
    } else {
      addRaw(operation)
    }
  }

  /// Adds operations; tasks are added as by ``addTask(_:)``.
  ///
  /// - Parameters:
  ///   - operations: The operations.
  ///   - wait: Whether to block the calling thread until they have finished.
  open override func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) {
    for operation in operations { addOperation(operation) }
    if wait { for operation in operations { operation.waitUntilFinished() } }
  }

  /// Adds a closure: the same as ``addBlock(_:)``.
  ///
  /// - Parameter block: The closure.
  open override func addOperation(_ block: @escaping @Sendable () -> Void) { addBlock(block) }

  /// Adds a closure that runs alone between what was added before and what is
  /// added later.
  ///
  /// It runs when all tasks and operations that were added before have finished,
  /// those included that still wait for something; what is added later does not
  /// start before it has run. So a task must not depend on one that is added to
  /// the same queue behind the barrier: the two would wait until one of them is
  /// cancelled.
  ///
  /// - Parameter block: The closure.
  open override func addBarrierBlock(_ block: @escaping @Sendable () -> Void) { addBarrier(block) }

  // MARK: All of them

  /// Cancels every task that has not finished, and every other operation.
  open func cancelAllTasks() { cancelEverything() }

  /// The same as ``cancelAllTasks()``.
  open override func cancelAllOperations() { cancelEverything() }

  /// Blocks the calling thread until no task and no other operation is left.
  ///
  /// - Precondition: No task of the queue needs the calling thread.
  @available(*, noasync, message: "Await the tasks' values; blocking a task's thread can hang.")
  open func waitUntilAllTasksAreFinished() { waitUntilIdle() }

  /// The same as ``waitUntilAllTasksAreFinished()``.
  open override func waitUntilAllOperationsAreFinished() { waitUntilIdle() }

  // MARK: What groups need

  /// The group whose queue this is.
  var owner: (any TaskQueueOwner)? {
    get { isWatched.load(ordering: .acquiring) ? weakOwner : nil }
    set {
      weakOwner = newValue
      isWatched.store(true, ordering: .releasing)
    }
  }

  /// Whether anybody is told of the tasks.
  var isObserved: Bool { isWatched.load(ordering: .acquiring) }
}

// MARK: - Tasks coming and going

extension TaskQueue {
  /// Adds a task, and what is upstream of it; `false` if it was added before.
  @discardableResult
  final func add(_ task: AnyFuture, implicitly isImplicit: Bool) -> Bool {
    guard let core = task.taskCore else { return false }
    if !core.isOperator { return enqueue(task, core, implicitly: isImplicit) }
    // Upstream first, and without recursion: chains may be long.
    var order = [(task, core)]
    var next = 0
    while next < order.count {
      let (current, core) = order[next]
      next += 1
      guard core.isOperator else { continue }
      core.willBeEnqueued(current)
      if core.hasUpstream {
        guard let source = current.upstreamFuture, let core = source.taskCore,
          core.phase == .created
        else { continue }
        order.append((source, core))
      } else {
        for source in core.sources {
          if let core = source.taskCore, core.phase == .created { order.append((source, core)) }
        }
      }
    }
    for (upstream, core) in order.dropFirst().reversed() {
      enqueue(upstream, core, implicitly: true)
    }
    return enqueue(task, core, implicitly: isImplicit)
  }

  @discardableResult
  private final func enqueue(
    _ task: AnyFuture, _ core: TaskCore, implicitly isImplicit: Bool
  ) -> Bool {
    guard core.enqueue(in: self, implicitly: isImplicit) else {
      return isImplicit || reject(task, core)
    }
    state.withLock { state in
      core.membership.index = state.members.count
      core.membership.epoch = state.firstEpoch + state.epochs.count - 1
      state.members.append(task)
      state.count += 1
      state.epochs[state.epochs.count - 1].pending += 1
    }
    // (It may end meanwhile; that is told when it is in.)
    defer { core.isNoLongerBusy(with: task) }
    if isObserved {
      if let owner {
        guard owner.willAdd(task) else {
          core.fail(task, ProducerTaskError.groupFinished(group: owner.ownerTask?.taskName ?? ""))
          return false
        }
      }
      if let delegate { core.tellWillAdd(delegate, self, task) }
    }
    core.beginWaiting(task)
    if core.state.withLock({ $0.machine.isWaiting }) { giveEarlySlot(task, core) }
    return true
  }

  /// The task is in a queue already, or has ended; `true` if that is no mistake.
  private final func reject(_ task: AnyFuture, _ core: TaskCore) -> Bool {
    // The library has added it as another one's upstream; now the user does.
    if core.becomesExplicit(in: self) { return true }
    // Cancelled before it was added: it has its result.
    if task.isSettled, task.outcome == .cancelled { return true }
    let error = ProducerTaskError.alreadyEnqueued(task: task.taskName)
    if core.phase != .executing, !task.isSettled { core.fail(task, error) }
    if let delegate { core.tellDidReject(delegate, self, task, error) }
    return false
  }

  /// The task has settled, and its handlers have been called.
  final func taskHasConcluded(_ task: AnyFuture, _ core: TaskCore) {
    if isObserved {
      if let owner { core.tellMemberFinished(owner, task) }
      if let delegate { core.tellDidFinish(delegate, self, task) }
    }
    let (barrier, idleWaiters, earlySlot) = state.withLock { state in
      state.members[core.membership.index] = nil
      state.count -= 1
      let earlySlot = core.membership.hasEarlySlot.take()
      if earlySlot != nil { state.earlySlots -= 1 }
      state.compact()
      let barrier = state.leave(epoch: core.membership.epoch)
      return (barrier, state.takeIdleWaiters(), earlySlot)
    }
    earlySlot?.fill(nil)
    if let barrier { runBarrier(barrier) }
    for waiter in idleWaiters { waiter.signal() }
  }

  // MARK: Slots

  /// Whether a task may run now, as far as barriers go.
  final func isOpen(for core: TaskCore) -> Bool {
    guard hasBarrier.load(ordering: .acquiring) else { return true }
    return state.withLock { core.membership.epoch <= $0.firstEpoch }
  }

  /// Gets a slot for a task that is ready.
  final func admit(_ job: Job, core: TaskCore) {
    if hasBarrier.load(ordering: .acquiring) {
      let isHeld = state.withLock { state in
        let place = core.membership.epoch - state.firstEpoch
        guard place > 0 else { return false }
        state.epochs[place].held.append(.task(job, core))
        return true
      }
      if isHeld { return }
    }
    let early: Slot? = state.withLock { state in
      guard let slot = core.membership.hasEarlySlot.take() else { return nil }
      state.earlySlots -= 1
      return slot
    }
    if let early { return early.fill(job) }
    // (It is ready: no readiness can get lost.)
    super.addOperation(Slot(job, of: self))
  }

  /// Lets `operationCount` see the first few of those who wait.
  private final func giveEarlySlot(_ task: AnyFuture, _ core: TaskCore) {
    // An operator waits for what the queue counts already.
    if core.isOperator { return }
    guard state.withLock({ $0.earlySlots < Self.earlySlotLimit }) else { return }
    let slot = Slot(for: task, of: self)
    let isGiven = state.withLock { state in
      guard state.earlySlots < Self.earlySlotLimit, core.membership.hasEarlySlot == nil,
        core.membership.index < state.members.count,
        state.members[core.membership.index] === task
      else { return false }
      state.earlySlots += 1
      core.membership.hasEarlySlot = slot
      return true
    }
    guard isGiven else { return }
    super.addOperation(slot)
    // It may have been filled while the queue adopted it.
    if !slot.isEmpty, !slot.isFinished { slot.post("isReady") }
    // It may have got another slot just before, or have ended.
    if task.isSettled || !core.state.withLock({ $0.machine.isWaiting }) {
      let unused = state.withLock { state -> Slot? in
        guard core.membership.hasEarlySlot === slot else { return nil }
        core.membership.hasEarlySlot = nil
        state.earlySlots -= 1
        return slot
      }
      unused?.fill(nil)
    }
  }

  /// Adds an operation that is no task.
  final func addRaw(_ operation: Operation) {
    if hasBarrier.load(ordering: .acquiring) {
      let isHeld = state.withLock { state in
        guard state.epochs.count > 1 else { return false }
        state.epochs[state.epochs.count - 1].held.append(.operation(operation))
        state.epochs[state.epochs.count - 1].pending += 1
        return true
      }
      if isHeld {
        countOff(operation, in: state.withLock { $0.firstEpoch + $0.epochs.count - 1 })
        return
      }
    }
    addNow(operation)
  }

  private final func addNow(_ operation: Operation) {
    super.addOperation(operation)
    #if !canImport(Darwin)
      // See `addReliably`.
      if operation.isReady, !operation.isFinished, !operation.isExecuting {
        operation.didChangeValue(forKey: "isReady")
      }
    #endif
  }
}

// MARK: - Barriers, waiting and cancelling

extension TaskQueue {
  // (Overrides cannot stand in an extension: these are called by them.)

  /// Counts an operation that is no task off its epoch when it has finished.
  private final func countOff(_ operation: Operation, in epoch: Int) {
    _ = FinishObserver(of: operation) { [self] _ in
      let (barrier, waiters) = state.withLock { state in
        (state.leave(epoch: epoch), state.takeIdleWaiters())
      }
      if let barrier { runBarrier(barrier) }
      for waiter in waiters { waiter.signal() }
    }
  }

  final func addBarrier(_ block: @escaping @Sendable () -> Void) {
    // Operations of Foundation's kind are not members: those that are here now
    // are counted by observing them.
    let raw = operations.filter { !($0 is Slot) && !$0.isFinished }
    let (epoch, barrier) = state.withLock { state in
      hasBarrier.store(true, ordering: .releasing)
      let place = state.epochs.count - 1
      state.epochs[place].barrier = block
      state.epochs[place].pending += raw.count + 1
      state.epochs.append(Epoch())
      return (state.firstEpoch + place, state.leave(epoch: state.firstEpoch + place))
    }
    for operation in raw { countOff(operation, in: epoch) }
    if let barrier { runBarrier(barrier) }
  }

  /// Runs a barrier in a slot, and then lets the next epoch begin.
  private final func runBarrier(_ block: @escaping @Sendable () -> Void) {
    addNow(
      BlockOperation { [self] in
        block()
        let (held, next, waiters) = state.withLock {
          state -> ([Held], (@Sendable () -> Void)?, [DispatchSemaphore]) in
          state.epochs.removeFirst()
          state.firstEpoch += 1
          if state.epochs.count == 1 { hasBarrier.store(false, ordering: .releasing) }
          let held = state.epochs[0].held
          state.epochs[0].held = []
          return (held, state.barrierIfDue(), state.takeIdleWaiters())
        }
        for one in held {
          switch one {
          case .task(let job, let core): admit(job, core: core)
          case .operation(let operation): addNow(operation)
          }
        }
        if let next { runBarrier(next) }
        for waiter in waiters { waiter.signal() }
      })
  }

  /// Blocks until nothing is left; see the two overrides.
  final func waitUntilIdle() {
    Drain.current.flush()
    while true {
      let waiter = DispatchSemaphore(value: 0)
      let isIdle = state.withLock { state in
        if state.isIdle { return true }
        state.idleWaiters.append(waiter)
        return false
      }
      if !isIdle {
        waiter.wait()
        continue
      }
      // What is no task; and slots whose work has not returned. (A slot that
      // waits to be started in a suspended queue has lost its task.)
      let operations = operations.filter { operation in
        guard !operation.isFinished else { return false }
        return !(operation is Slot) || operation.isExecuting
      }
      if operations.isEmpty { return }
      for operation in operations { operation.waitUntilFinished() }
    }
  }

  final func cancelEverything() {
    let (members, held) = state.withLock { state in
      (state.members.compactMap { $0 }, state.epochs.flatMap(\.held))
    }
    // Those that execute come last: their end would let others begin.
    for member in members where member.taskCore?.phase != .executing { member.cancel() }
    for member in members { member.cancel() }
    for case .operation(let operation) in held { operation.cancel() }
    for operation in operations where !(operation is Slot) { operation.cancel() }
  }
}

extension TaskQueue.State {
  /// Whether no task is there and no barrier waits.
  var isIdle: Bool { count == 0 && epochs.count == 1 }

  mutating func takeIdleWaiters() -> [DispatchSemaphore] {
    guard !idleWaiters.isEmpty, isIdle else { return [] }
    defer { idleWaiters = [] }
    return idleWaiters
  }

  /// One of an epoch is done; returns the barrier if it was the last.
  mutating func leave(epoch: Int) -> (@Sendable () -> Void)? {
    let place = epoch - firstEpoch
    guard place >= 0, place < epochs.count else { return nil }
    epochs[place].pending -= 1
    return barrierIfDue()
  }

  mutating func barrierIfDue() -> (@Sendable () -> Void)? {
    guard epochs[0].pending == 0, !epochs[0].isBarrierRunning, let barrier = epochs[0].barrier
    else { return nil }
    epochs[0].isBarrierRunning = true
    return barrier
  }

  /// Closes the gaps of those who have gone, when there are many.
  mutating func compact() {
    guard members.count > 32, members.count > count * 2 else {
      if count == 0 { members.removeAll(keepingCapacity: true) }
      return
    }
    members.removeAll { $0 == nil }
    for (index, member) in members.enumerated() {
      member?.taskCore?.membership.index = index
    }
  }
}
