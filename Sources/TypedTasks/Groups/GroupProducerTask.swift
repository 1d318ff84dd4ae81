// The compiler (6.3) crashes on subclasses of a class whose designated initialiser has a
// parameter pack. So there is one initialiser for each number of tasks up to ten, and a
// convenience initialiser for more.

import Foundation
import Futures

/// Runs several tasks as one task.
///
/// The members start when the group executes. They wait for their own dependencies, and
/// otherwise run at the same time, in a queue of the group. The group finishes when all
/// members have finished; its handlers are called then.
///
/// The result of the group is the first of these:
///
/// - the result that ``finish(with:)`` was called with, on the group itself;
/// - the result of the member that is named as `produced`;
/// - the error of the first member that failed. Tasks that the library adds for a member
///   do not count: its upstreams, the attempts of a `retry`, the task that a `flatMap`
///   continues with;
/// - success, if the group has no value; otherwise
///   ``ProducerTaskError/executionFailure``.
///
/// ```swift
/// let download = Download(url)
/// let check = Check(producing: download)
/// let group = GroupProducerTask(tasks: (download, check), produced: check)
/// queue.addTask(group)
/// ```
///
/// Cancelling a group that executes cancels its members. The group ends as cancelled when
/// the members have ended, unless its result was known before. A group that is cancelled
/// before it executes, or that a timeout ends, also cancels its members. A member that was
/// in another queue before the group began is waited for, and not cancelled. Groups can be
/// nested.
///
/// Add a group to a ``TaskQueue``. In a plain `OperationQueue`, which has no way to get it
/// back, a group keeps its slot until it has finished. If the queue is the main queue, or
/// groups have taken all its slots, a member must not need the queue: no task or operation
/// that waits there, and no handler that runs there.
open class GroupProducerTask<Output: Sendable, Failure: Error>: ProducerTask<Output, Failure>,
  TaskQueueContainable, GroupHook, @unchecked Sendable
{
  // Sendable: everything mutable is in the core.

  /// Makes a group.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the members that have none of their own.
  ///   - priority: The priority among the ready tasks of a queue.
  ///   - underlyingQueue: The dispatch queue that the members run on.
  ///   - tasks: The members; empty by default, for a group that gets its members by
  ///     ``addTask(_:)``.
  ///   - produced: The member whose result is the group's result, if there is one. It is
  ///     added if it is not among the members.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: [any ProducerTaskProtocol] = [],
    produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(self, tasks, produced: produced)
  }

  /// Makes a group of members that a builder collects.
  ///
  /// A subclass without an initialiser of its own inherits this initialiser without its
  /// builder. Give such a group its members as `tasks`.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the members that have none of their own.
  ///   - priority: The priority among the ready tasks of a queue.
  ///   - underlyingQueue: The dispatch queue that the members run on.
  ///   - produced: The member whose result is the group's result, if there is one. It is
  ///     added if it is not among the members.
  ///   - members: The members, one on each line.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line,
    @TaskGroupBuilder members: () -> [any ProducerTaskProtocol]
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(self, members(), produced: produced)
  }

  // MARK: Members as a tuple

  /// Makes a group of one task; see the initialiser that takes an array.
  public init<A: ProducerTaskProtocol>(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: A, produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(self, [tasks], produced: produced)
  }

  /// Makes a group of two tasks; see the initialiser that takes an array.
  public init<A: ProducerTaskProtocol, B: ProducerTaskProtocol>(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: (A, B), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(self, [tasks.0, tasks.1], produced: produced)
  }

  /// Makes a group of three tasks; see the initialiser that takes an array.
  public init<A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol>(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: (A, B, C), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(self, [tasks.0, tasks.1, tasks.2], produced: produced)
  }

  /// Makes a group of four tasks; see the initialiser that takes an array.
  public init<
    A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol,
    D: ProducerTaskProtocol
  >(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: (A, B, C, D), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(self, [tasks.0, tasks.1, tasks.2, tasks.3], produced: produced)
  }

  /// Makes a group of five tasks; see the initialiser that takes an array.
  public init<
    A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol,
    D: ProducerTaskProtocol, E: ProducerTaskProtocol
  >(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: (A, B, C, D, E), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(self, [tasks.0, tasks.1, tasks.2, tasks.3, tasks.4], produced: produced)
  }

  /// Makes a group of six tasks; see the initialiser that takes an array.
  public init<
    A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol,
    D: ProducerTaskProtocol, E: ProducerTaskProtocol, F: ProducerTaskProtocol
  >(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: (A, B, C, D, E, F), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(self, [tasks.0, tasks.1, tasks.2, tasks.3, tasks.4, tasks.5], produced: produced)
  }

  /// Makes a group of seven tasks; see the initialiser that takes an array.
  public init<
    A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol,
    D: ProducerTaskProtocol, E: ProducerTaskProtocol, F: ProducerTaskProtocol,
    G: ProducerTaskProtocol
  >(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: (A, B, C, D, E, F, G), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(
      self, [tasks.0, tasks.1, tasks.2, tasks.3, tasks.4, tasks.5, tasks.6], produced: produced)
  }

  /// Makes a group of eight tasks; see the initialiser that takes an array.
  public init<
    A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol,
    D: ProducerTaskProtocol, E: ProducerTaskProtocol, F: ProducerTaskProtocol,
    G: ProducerTaskProtocol, H: ProducerTaskProtocol
  >(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: (A, B, C, D, E, F, G, H), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(
      self, [tasks.0, tasks.1, tasks.2, tasks.3, tasks.4, tasks.5, tasks.6, tasks.7],
      produced: produced)
  }

  /// Makes a group of nine tasks; see the initialiser that takes an array.
  public init<
    A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol,
    D: ProducerTaskProtocol, E: ProducerTaskProtocol, F: ProducerTaskProtocol,
    G: ProducerTaskProtocol, H: ProducerTaskProtocol, I: ProducerTaskProtocol
  >(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: (A, B, C, D, E, F, G, H, I), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(
      self, [tasks.0, tasks.1, tasks.2, tasks.3, tasks.4, tasks.5, tasks.6, tasks.7, tasks.8],
      produced: produced)
  }

  /// Makes a group of ten tasks; see the initialiser that takes an array.
  public init<
    A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol,
    D: ProducerTaskProtocol, E: ProducerTaskProtocol, F: ProducerTaskProtocol,
    G: ProducerTaskProtocol, H: ProducerTaskProtocol, I: ProducerTaskProtocol,
    J: ProducerTaskProtocol
  >(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: (A, B, C, D, E, F, G, H, I, J), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, at: Birthplace(fileID, line))
    group.setUp(
      self,
      [tasks.0, tasks.1, tasks.2, tasks.3, tasks.4, tasks.5, tasks.6, tasks.7, tasks.8, tasks.9],
      produced: produced)
  }

  /// Makes a group of any number of tasks, as a tuple; see the initialiser that
  /// takes an array.
  @_disfavoredOverload
  public convenience init<each T: ProducerTaskProtocol>(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    tasks: (repeat each T), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    var all: [any ProducerTaskProtocol] = []
    repeat all.append(each tasks)
    self.init(
      name: name, qos: qos, priority: priority, underlyingQueue: underlyingQueue,
      tasks: all, produced: produced, fileID: fileID, line: line)
  }

  private final var group: GroupCore<Output, Failure> {
    unsafeDowncast(core, to: GroupCore<Output, Failure>.self)
  }

  /// The queue of the members.
  ///
  /// You may suspend it, limit it and give it a delegate. Until the group executes, nothing
  /// in it starts, and `isSuspended` is `true`: what you set before counts from then on. The
  /// group waits for tasks and barriers that you add here, too. Its result does not wait
  /// for closures and operations. When the last member ends, those that have not begun do not
  /// run, and the others are asked to cancel. The group keeps its slot, its categories and its
  /// place in front of a barrier until these have ended.
  ///
  /// A barrier waits for the members and tasks in this queue that were added before it. A member
  /// counts as added when the group got it. Do not wait for this queue before the group
  /// executes: nothing in it starts.
  public final var innerQueue: TaskQueue { group.innerQueue }

  /// Starts the members.
  open override func execute() { group.begin() }

  /// Sets the group's result.
  ///
  /// The first call counts. The group finishes when all members have ended, or at once if
  /// it does not execute yet. A subclass that overrides `execute()` may call it before it
  /// starts the members. If `execute()` returns and has not called `super`, the group
  /// finishes with that result or with the next call, and cancels its members.
  ///
  /// - Parameter produced: The result.
  open override func finish(with produced: Produced) {
    if !group.record(produced) { super.finish(with: produced) }
  }

  /// Adds a member, before the group executes or while it does.
  ///
  /// The group waits for the member. A member that is added after the group has ended
  /// fails with ``ProducerTaskError/groupFinished(group:)``.
  ///
  /// - Parameter task: The member.
  open func addTask<T: ProducerTaskProtocol>(_ task: T) { group.add(task) }

  /// Called when a member has finished; subclasses may override it.
  ///
  /// It may add members, cancel and finish the group. It is not called for a task that came
  /// too late and failed with ``ProducerTaskError/groupFinished(group:)``.
  ///
  /// - Parameter task: The member; `isFinished` is `true`.
  open func taskDidFinish<T: ProducerTaskProtocol>(_ task: T) {}

  /// Sets the dispatch queue that the members run on.
  ///
  /// It has no effect once the group executes, or anything is in ``innerQueue``. Do not call it
  /// while another thread adds something there.
  ///
  /// - Parameter queue: The queue; not the main queue.
  @discardableResult
  public final func setUnderlyingQueue(_ queue: DispatchQueue) -> Self {
    group.setUnderlyingQueue(queue)
    return self
  }
}
