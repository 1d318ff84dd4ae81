import Foundation

/// An operation queue as the executor of actors.
///
/// Get it from `serialExecutor` of the queue. The jobs of all actors that
/// have the executor run one after the other, in the order in which they arrive, each as an
/// operation of the queue. That holds whatever the queue's `maxConcurrentOperationCount` is.
/// In a queue with a limit of one, the jobs and the other operations of the queue exclude
/// each other, too.
///
/// The executor keeps its queue.
///
///   idle ── enqueue ──▶ active ── the last job has run ──▶ idle
public final class QueueSerialExecutor: SerialExecutor, CustomStringConvertible {
  private struct Jobs {
    var waiting = FIFO<UnownedJob>()
    /// Whether an operation for the next job is in the queue, or runs.
    var isActive = false
    /// The thread that runs a job, by its work loop.
    var thread: ObjectIdentifier?
  }

  /// The queue that runs the jobs.
  public let queue: OperationQueue
  private let jobs = Lock(Jobs())

  fileprivate init(_ queue: OperationQueue) { self.queue = queue }

  deinit { SerialExecutors.remove(self) }

  /// Puts a job in the queue; Swift calls this method.
  ///
  /// - Parameter job: A piece of a task.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isFirst = jobs.withLock { jobs in
      jobs.waiting.append(job)
      defer { jobs.isActive = true }
      return !jobs.isActive
    }
    if isFirst { addTurn() }
  }

  /// Adds an operation that runs one job.
  ///
  /// One job at a time, so that the other operations of the queue get their turn.
  private func addTurn() {
    queue.addReliably(
      ExecutorJobOperation {
        let thread = ObjectIdentifier(WorkLoop.current)
        let job = self.jobs.withLock { jobs in
          jobs.thread = thread
          return jobs.waiting.popFirst()
        }
        job?.runSynchronously(on: self.asUnownedSerialExecutor())
        let isMore = self.jobs.withLock { jobs in
          jobs.thread = nil
          jobs.isActive = !jobs.waiting.isEmpty
          return jobs.isActive
        }
        if isMore { self.addTurn() }
      })
  }

  /// Whether the calling code has the isolation of the actors that have this executor.
  ///
  /// That is so in their own code, and in operations of the queue while its limit is one.
  /// So such an operation may use `assumeIsolated` of the actors.
  public func isIsolatingCurrentContext() -> Bool? { isIsolating }

  /// Traps if the calling code does not have the isolation of the actors.
  ///
  /// Swift calls this method for `assumeIsolated` and `preconditionIsolated`.
  public func checkIsolated() {
    precondition(
      isIsolating,
      "This code must run in an actor of the \(self), or in an operation of that queue while "
        + "its 'maxConcurrentOperationCount' is 1.")
  }

  private var isIsolating: Bool {
    // An operation from the time of a higher limit may run beside a job.
    if let thread = jobs.withLock({ $0.thread }) {
      return thread == ObjectIdentifier(WorkLoop.current)
    }
    return OperationQueue.current === queue && queue.maxConcurrentOperationCount == 1
  }

  /// The name of the queue, for people.
  public var description: String { "serial executor of \(queue.nameInErrors)" }
}

/// The serial executors of queues.
///
/// All actors of a queue have to share one, because two would not exclude each other.
private enum SerialExecutors {
  /// An object, because the compiler gets weak references in structs of a dictionary wrong
  /// (6.3.1).
  private final class Entry: Sendable {
    // Sendable: the weak reference changes only to `nil`, which is atomic.
    private(set) nonisolated(unsafe) weak var executor: QueueSerialExecutor?
    let id: ObjectIdentifier

    init(_ executor: QueueSerialExecutor) {
      self.executor = executor
      id = ObjectIdentifier(executor)
    }
  }

  private static let entries = Lock<[ObjectIdentifier: Entry]>([:])

  static func executor(of queue: OperationQueue) -> QueueSerialExecutor {
    // Made before, because a lock must not be held while an object is released.
    let new = QueueSerialExecutor(queue)
    let entry = Entry(new)
    let known = entries.withLock { entries -> QueueSerialExecutor? in
      // An executor keeps its queue. So no other queue has the address of a known one.
      if let known = entries[ObjectIdentifier(queue)]?.executor { return known }
      entries[ObjectIdentifier(queue)] = entry
      return nil
    }
    return known ?? new
  }

  static func remove(_ executor: QueueSerialExecutor) {
    entries.withLock { entries in
      let key = ObjectIdentifier(executor.queue)
      if entries[key]?.id == ObjectIdentifier(executor) { entries[key] = nil }
    }
  }
}

extension OperationQueue {
  /// The queue as an executor of Swift tasks.
  ///
  /// Work that blocks, or that has to respect the limit of a queue, keeps off Swift's own
  /// threads this way.
  ///
  /// ```swift
  /// let disk = OperationQueue()
  /// disk.maxConcurrentOperationCount = 2
  /// let sizes = Task(executorPreference: disk.taskExecutor) {
  ///   try paths.map { try Data(contentsOf: $0).count }
  /// }
  /// ```
  ///
  /// Each piece of a task between two suspensions runs as an operation of the queue, with
  /// the priority of the task. The limit, the suspension and the quality of service of the
  /// queue apply. A suspended queue holds its tasks up.
  ///
  /// A job always runs: `cancelAllOperations()` does not cancel the tasks, and a queue that
  /// is shut down still runs the jobs of tasks that have not ended. Cancel the tasks instead.
  ///
  /// `wait()` in such a task is refused as in an operation of the queue, if it needs the
  /// task's own slot.
  ///
  /// Each call makes a new executor; all of one queue do the same. The idea is SE-0417.
  public final var taskExecutor: QueueTaskExecutor { QueueTaskExecutor(self) }

  /// The queue as an executor of actors.
  ///
  /// An actor that shares its queue with older code needs no lock: its methods and the
  /// operations of a queue with a limit of one exclude each other.
  ///
  /// ```swift
  /// actor Ledger {
  ///   private let executor: QueueSerialExecutor
  ///   nonisolated var unownedExecutor: UnownedSerialExecutor {
  ///     executor.asUnownedSerialExecutor()
  ///   }
  ///   private(set) var total = 0
  ///
  ///   init(on queue: OperationQueue) { executor = queue.serialExecutor }
  ///
  ///   func add(_ amount: Int) { total += amount }
  /// }
  /// ```
  ///
  /// The actor has to keep the executor, as above, because Swift does not. While an
  /// executor of a queue exists, every call returns the same. So the actors of a queue exclude
  /// each other, and need no hop to call each other.
  ///
  /// The methods of the actor run in the order of their calls. A job always runs:
  /// `cancelAllOperations()` does not touch it, and a queue that is shut down still runs it.
  /// A suspended queue holds the actor up.
  ///
  /// An async closure of `queue.run` keeps its slot until it returns. So in a queue with a
  /// limit of one it must not await the actor, nor be isolated to it: that wait never ends. Nor
  /// does it end while closures that wait in this way hold all slots, or a barrier waits for
  /// one of them.
  ///
  /// On the main queue the actor's methods run on the main thread; but for Swift that is not
  /// the main actor. The idea is SE-0392.
  public final var serialExecutor: QueueSerialExecutor { SerialExecutors.executor(of: self) }
}
