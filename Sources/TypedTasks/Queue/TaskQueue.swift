import Foundation
import Futures

/// A queue that runs tasks.
///
/// ```swift
/// let queue = TaskQueue(name: "com.example.images", qos: .utility, maxConcurrentTaskCount: 2)
/// queue.addTask(BlockTask<CocoaError> { task, finish in finish(.success) })
/// ```
///
/// It is an `OperationQueue`: suspension, limits, priorities and quality of service work
/// as they do there, and operations of any kind can be added. A task that is added as an
/// operation is added as a task. A task that waits for dependencies, conditions, a
/// barrier or a category takes no slot and costs the queue nothing, however many tasks
/// wait.
///
/// You need not keep the queue: it stays as long as it has something to do. On Linux, a
/// suspended queue to which something was added stays until it is resumed, as operation
/// queues do there.
open class TaskQueue: OperationQueue, @unchecked Sendable {
  // Sendable: everything mutable is in `state`, under its lock.
  let state = Lock(State())
  /// Whether the queue has, or had, a delegate or a group that is told of the tasks that come
  /// and go.
  private let isWatched = Atomic<Bool>(false)
  let slots = SlotUse()
  /// The group that the queue belongs to.
  // Sendable: written by the group that makes the queue, before the queue is shared.
  private nonisolated(unsafe) weak var weakOwner: (any TaskQueueOwner)?
  /// The number of the group that the queue was made for; zero if there is none.
  let groupNumber: UInt32
  private static let lastGroupNumber = Atomic<UInt32>(0)

  /// Makes a queue.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - qos: The quality of service of the tasks that have none of their own.
  ///   - maxConcurrentTaskCount: How many may execute at a time; as many as the
  ///     system sees fit by default. A number below one counts as one, but for
  ///     the default.
  ///   - underlyingQueue: The dispatch queue that the tasks run on.
  ///   - startSuspended: Whether nothing starts before `isSuspended` is set to
  ///     `false`.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    maxConcurrentTaskCount: Int = OperationQueue.defaultMaxConcurrentOperationCount,
    underlyingQueue: DispatchQueue? = nil, startSuspended: Bool = false
  ) {
    groupNumber = 0
    super.init()
    setUp(name, qos, maxConcurrentTaskCount, underlyingQueue, startSuspended)
  }

  /// Makes a queue, with the limit under its old name.
  ///
  /// This form stands here because subclasses call it as their designated initializer.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - qos: The quality of service of the tasks that have none of their own.
  ///   - maxConcurrentTasks: The limit: see `maxConcurrentTaskCount`.
  ///   - underlyingQueue: The dispatch queue that the tasks run on.
  ///   - startSuspended: Whether the queue starts suspended.
  @available(
    *, deprecated,
    renamed: "init(name:qos:maxConcurrentTaskCount:underlyingQueue:startSuspended:)"
  )
  public init(
    name: String? = nil, qos: QualityOfService = .default, maxConcurrentTasks: Int,
    underlyingQueue: DispatchQueue? = nil, startSuspended: Bool = false
  ) {
    groupNumber = 0
    super.init()
    setUp(name, qos, maxConcurrentTasks, underlyingQueue, startSuspended)
  }

  /// Makes a queue with the defaults.
  public override convenience init() { self.init(name: nil) }

  /// Makes the queue of a group.
  init(qos: QualityOfService, underlyingQueue: DispatchQueue?) {
    groupNumber = Self.lastGroupNumber.wrappingAdd(1, ordering: .relaxed).newValue
    super.init()
    qualityOfService = qos
    if let underlyingQueue { self.underlyingQueue = underlyingQueue }
  }

  private final func setUp(
    _ name: String?, _ qos: QualityOfService, _ limit: Int, _ underlyingQueue: DispatchQueue?,
    _ startSuspended: Bool
  ) {
    if let name { self.name = name }
    qualityOfService = qos
    maxConcurrentTaskCount = limit
    if let underlyingQueue { self.underlyingQueue = underlyingQueue }
    if startSuspended { isSuspended = true }
  }

  // MARK: Properties

  /// The delegate, which is told of the tasks that come and go; the queue does not keep
  /// it.
  open weak var delegate: (any TaskQueueDelegate)? {
    get { state.withLock { $0.delegate } }
    set {
      state.withLock { $0.delegate = newValue }
      // Never taken back: another thread may set a delegate at the same time.
      if newValue != nil { isWatched.store(true, ordering: .releasing) }
    }
  }

  /// The maximum number of tasks that execute at a time.
  ///
  /// A group takes one slot while its members run. If groups have taken all slots, and a
  /// member depends on a task that waits for one of them, the group gives its slot back
  /// after a moment, if no slot can become free without this one. So more groups may execute
  /// then than this number. The queue does not look through barriers, through plain operations
  /// on which members depend, and through tasks that another waiting group has yet to bring in:
  /// leave a slot free for these. In a closure, `wait(timeout:)` throws if it could never end.
  ///
  /// `OperationQueue.defaultMaxConcurrentOperationCount` leaves the number to the system;
  /// any other number below one counts as one. To start nothing for some time, set
  /// ``isSuspended``, or set ``maxConcurrentOperationCount`` to zero.
  open var maxConcurrentTaskCount: Int {
    get { maxConcurrentOperationCount }
    set {
      let isDefault = newValue == OperationQueue.defaultMaxConcurrentOperationCount
      maxConcurrentOperationCount = isDefault ? newValue : max(newValue, 1)
    }
  }

  /// The maximum number of tasks and other operations that execute at a time: the same as
  /// ``maxConcurrentTaskCount``, but for zero.
  ///
  /// Zero is a pause, as for every operation queue: what executes continues, and nothing else
  /// starts until the number is changed. A negative number leaves the number to the system.
  open override var maxConcurrentOperationCount: Int {
    get { super.maxConcurrentOperationCount }
    set {
      let wasUnlimited = super.maxConcurrentOperationCount <= 0
      // Foundation stops a process that sets any other negative number.
      let limit = max(newValue, OperationQueue.defaultMaxConcurrentOperationCount)
      super.maxConcurrentOperationCount = limit
      SlotUse.copy({ super.maxConcurrentOperationCount }, slots.setLimit)
      CategoryTable.slotsAreGone(slots)
      if wasUnlimited { for task in slotHolders { task.taskCore?.watchSlot(of: task) } }
    }
  }

  /// Whether the queue starts nothing.
  ///
  /// Tasks and operations that execute continue. An operator whose upstream has just ended in a
  /// slot may still run there.
  open override var isSuspended: Bool {
    get { super.isSuspended }
    set {
      guard let owner else { return setSuspended(newValue) }
      guard owner.willSetSuspended(newValue) else { return }
      // The group may end meanwhile, and then resumes the queue for good.
      SlotUse.copy({ owner.staysSuspended }, setSuspended)
    }
  }

  /// Suspends or resumes the queue, also if it belongs to a group that has not begun.
  final func setSuspended(_ value: Bool) {
    super.isSuspended = value
    SlotUse.copy({ super.isSuspended }, slots.setSuspended)
    if value { CategoryTable.slotsAreGone(slots) }
  }

  /// The tasks that have been added and have not finished, in the order in which they
  /// were added.
  public var tasks: [AnyFuture] { state.withLock { $0.members.compactMap { $0 } } }

  /// The number of tasks that have been added and have not finished.
  public var taskCount: Int { state.withLock { $0.count } }

  // MARK: Adding

  /// Adds a task.
  ///
  /// The upstreams of an operator that are in no queue yet are added with it, in the order
  /// of the operator's arguments. The producer of a consumer is not: add it yourself, here
  /// or elsewhere.
  ///
  /// A task that is, or was, in a queue is not added again. It continues in its queue,
  /// and the delegate of this queue is told by
  /// ``TaskQueueDelegate/taskQueue(_:didReject:error:)``. Adding a task that had its
  /// result before it was in any queue, or that has ended as cancelled, does nothing.
  ///
  /// - Parameter task: The task.
  open func addTask<T: ProducerTaskProtocol>(_ task: T) { add(task, implicitly: false) }

  /// Adds several tasks, in their order; see ``addTask(_:)``.
  ///
  /// A task that ends at once, for example because the queue is shut down, tells its handlers
  /// and the threads that wait for it when all are added.
  ///
  /// - Parameter tasks: The tasks.
  /// - Complexity: O(n).
  public final func addTasks(_ tasks: [any ProducerTaskProtocol]) {
    WorkLoop.current.beforeHandlers { for task in tasks { addTask(task) } }
  }

  /// Adds several tasks, in their order; see ``addTask(_:)``.
  ///
  /// A task that ends at once, for example because the queue is shut down, tells its handlers
  /// and the threads that wait for it when all are added.
  ///
  /// - Parameter tasks: The tasks.
  /// - Complexity: O(n).
  public final func addTasks(_ tasks: any ProducerTaskProtocol...) { addTasks(tasks) }

  /// Adds a task at a later time.
  ///
  /// The queue and the task are kept until then. A task that is cancelled before is not
  /// added; ``cancelAllTasks()`` cancels it too.
  ///
  /// - Parameters:
  ///   - task: The task.
  ///   - deadline: The time.
  open func addTaskAfter<T: ProducerTaskProtocol>(_ task: T, deadline: DispatchTime) {
    let id = ObjectIdentifier(task)
    state.withLock { $0.later[id] = task }
    // On a queue of its own: a global queue is late when its threads block.
    DispatchQueue(label: "addTaskAfter").asyncAfter(deadline: deadline) {
      self.addTask(task)
      // Only now, so that a cancellation finds it in one of the two places.
      let last = self.state.withLock { $0.later.removeValue(forKey: id) }
      withExtendedLifetime(last) {}
    }
  }

  /// Adds a closure.
  ///
  /// - Parameter block: The closure; it takes a slot while it runs.
  open func addBlock(_ block: @escaping @Sendable () -> Void) {
    addUnlessShutDown(BlockOperation(block: block))
  }

  // MARK: Foundation's way

  /// Adds an operation; a task is added as by ``addTask(_:)``.
  ///
  /// - Parameter operation: The operation.
  open override func addOperation(_ operation: Operation) {
    if let future = operation as? AnyFuture, future.taskCore != nil {
      add(future, implicitly: false)
    } else {
      addUnlessShutDown(operation)
    }
  }

  /// Adds operations; tasks are added as by ``addTask(_:)``.
  ///
  /// - Parameters:
  ///   - operations: The operations.
  ///   - wait: Whether to block the calling thread until they have finished.
  open override func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) {
    WorkLoop.current.beforeHandlers { for operation in operations { addOperation(operation) } }
    guard wait else { return }
    WorkLoop.current.flush()
    for operation in operations { operation.waitUntilFinished() }
  }

  /// Adds a closure: the same as ``addBlock(_:)``.
  ///
  /// - Parameter block: The closure.
  open override func addOperation(_ block: @escaping @Sendable () -> Void) { addBlock(block) }

  /// Adds a closure that runs alone between everything added before it and everything
  /// added after it.
  ///
  /// The closure runs when all tasks and operations that were added before have finished,
  /// even if they still wait. Tasks and operations that are added later do not start
  /// before the closure has run. A task in front of the barrier brings other tasks to its
  /// side: the task that its `flatMap`, `catch` or `retry` continues with, and a task that
  /// it produces.
  ///
  /// A task must not depend on a task that you add to the same queue behind the barrier, nor on
  /// a future whose closure runs `on:` this queue and has not been enqueued yet: the two would
  /// wait until one of them is cancelled.
  ///
  /// - Parameter block: The closure.
  open override func addBarrierBlock(_ block: @escaping @Sendable () -> Void) {
    // The barrier waits for the futures that belong to the queue now, and not for later ones.
    if !isShutDown { BarrierContext(queue: self).execute(BlockOperation(block: block)) }
  }

  // MARK: The whole queue

  /// Cancels every task that has not finished, and every other operation.
  ///
  /// A barrier whose block does not run yet is cancelled too: its block never runs, and
  /// everything behind the barrier continues.
  ///
  /// Observers of a task that executes hear of the cancellation at once. All other tasks end,
  /// and tell their observers, handlers and waiting threads, when everything is cancelled. So
  /// an inline handler may wait for another task of the queue. An observer must not wait for a
  /// lock that a thread holds while it waits for one of these tasks.
  open func cancelAllTasks() { cancelEverything() }

  /// The same as ``cancelAllTasks()``.
  open override func cancelAllOperations() { cancelEverything() }

  /// Blocks the calling thread until every task and every other operation of the queue has
  /// finished.
  ///
  /// ``taskCount`` is zero then, and `operationCount` a moment later: it includes operations
  /// of the queue's own, in which tasks run.
  ///
  /// - Precondition: No task of the queue needs the calling thread. A group needs it if a
  ///   member has a handler there: on the main thread, a handler that was written in a
  ///   `@MainActor` class or in `main.swift`.
  @available(*, noasync, message: "Await the tasks' values; blocking a task's thread can hang.")
  open func waitUntilAllTasksAreFinished() { waitUntilIdle() }

  /// The same as ``waitUntilAllTasksAreFinished()``.
  open override func waitUntilAllOperationsAreFinished() { waitUntilIdle() }

  // MARK: Describing

  /// The name, the number of tasks, the limit, and whether the queue is suspended.
  open override var description: String {
    let limit = maxConcurrentOperationCount
    let isLimited = limit != OperationQueue.defaultMaxConcurrentOperationCount
    return "TaskQueue \"\(name ?? "")\" (tasks: \(taskCount)"
      + "\(isLimited ? ", at most \(limit) at a time" : "")"
      + "\(isSuspended ? ", suspended" : ""))"
  }

  /// The description of the queue, and of each task: what it does, or what it waits for.
  ///
  /// The members of a group follow the group and are indented, down to sixteen levels.
  /// Print it when a task that should run does not.
  ///
  /// - Complexity: O(n) in the number of tasks and members, and of what these wait for.
  open override var debugDescription: String {
    var lines = [description]
    var seen: Set<ObjectIdentifier> = []
    var stack = tasks.reversed().map { (task: $0, depth: 1) }
    while let (task, depth) = stack.popLast() {
      guard seen.insert(ObjectIdentifier(task)).inserted else { continue }
      lines.append(String(repeating: "  ", count: depth) + task.debugDescription)
      guard depth <= 16, !task.isSettled, let core = task.taskCore, core.hasParts else { continue }
      stack += (core.parts + core.partsThatWait(limit: .max)).reversed().map { ($0, depth + 1) }
    }
    return lines.joined(separator: "\n")
  }

  // MARK: Groups

  /// The group that the queue belongs to.
  var owner: (any TaskQueueOwner)? {
    get { isWatched.load(ordering: .acquiring) ? weakOwner : nil }
    set {
      weakOwner = newValue
      isWatched.store(true, ordering: .releasing)
    }
  }

  /// Whether a delegate or a group may be told of the tasks.
  var isObserved: Bool { isWatched.load(ordering: .acquiring) }
}
