// The compiler (6.3) crashes on subclasses of a class whose designated initialiser has a
// parameter pack. So there is one initialiser for each number of tasks up to ten, and a
// convenience initialiser for more.

import Foundation
import Futures

/// A group of tasks that has an input: the result of another task.
///
/// Everything in ``GroupProducerTask`` applies. When the group executes,
/// ``execute(with:)`` gets the input and starts the members. Override it to add members
/// that need the input, and call `super`. Without an input the group fails with
/// ``ProducerTaskError/producingFailure``, and its members are cancelled.
///
/// ```swift
/// final class Thumbnails: GroupConsumerTask<Data, ImageError>, @unchecked Sendable {
///   override func execute(with consumed: Consumed) {
///     if case .success(let data) = consumed {
///       for size in [64, 128] {
///         addTask(
///           BlockTask<ImageError> { task, finish in
///             finish(data.count > size ? .success : .failure(.provided(.tooSmall)))
///           })
///       }
///     }
///     super.execute(with: consumed)
///   }
/// }
/// ```
open class GroupConsumerProducerTask<Input: Sendable, Output: Sendable, Failure: Error>:
  ConsumerProducerTask<Input, Output, Failure>,
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
  ///   - producing: The task whose result is consumed.
  ///   - tasks: The members; empty by default, for a group that gets its members by
  ///     ``addTask(_:)``.
  ///   - produced: The member whose result is the group's result, if there is one. It is
  ///     added if it is not among the members.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    producing: ProducingTask, tasks: [any ProducerTaskProtocol] = [],
    produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
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
  ///   - producing: The task whose result is consumed.
  ///   - produced: The member whose result is the group's result, if there is one. It is
  ///     added if it is not among the members.
  ///   - members: The members, one on each line.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    producing: ProducingTask, produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line,
    @TaskGroupBuilder members: () -> [any ProducerTaskProtocol]
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
    group.setUp(self, members(), produced: produced)
  }

  // MARK: Members as a tuple

  /// Makes a group of one task; see the initialiser that takes an array.
  public init<A: ProducerTaskProtocol>(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    producing: ProducingTask, tasks: A, produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
    group.setUp(self, [tasks], produced: produced)
  }

  /// Makes a group of two tasks; see the initialiser that takes an array.
  public init<A: ProducerTaskProtocol, B: ProducerTaskProtocol>(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    producing: ProducingTask, tasks: (A, B), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
    group.setUp(self, [tasks.0, tasks.1], produced: produced)
  }

  /// Makes a group of three tasks; see the initialiser that takes an array.
  public init<A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol>(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    producing: ProducingTask, tasks: (A, B, C), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
    group.setUp(self, [tasks.0, tasks.1, tasks.2], produced: produced)
  }

  /// Makes a group of four tasks; see the initialiser that takes an array.
  public init<
    A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol,
    D: ProducerTaskProtocol
  >(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    producing: ProducingTask, tasks: (A, B, C, D), produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
    group.setUp(self, [tasks.0, tasks.1, tasks.2, tasks.3], produced: produced)
  }

  /// Makes a group of five tasks; see the initialiser that takes an array.
  public init<
    A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol,
    D: ProducerTaskProtocol, E: ProducerTaskProtocol
  >(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    producing: ProducingTask, tasks: (A, B, C, D, E),
    produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
    group.setUp(self, [tasks.0, tasks.1, tasks.2, tasks.3, tasks.4], produced: produced)
  }

  /// Makes a group of six tasks; see the initialiser that takes an array.
  public init<
    A: ProducerTaskProtocol, B: ProducerTaskProtocol, C: ProducerTaskProtocol,
    D: ProducerTaskProtocol, E: ProducerTaskProtocol, F: ProducerTaskProtocol
  >(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, underlyingQueue: DispatchQueue? = nil,
    producing: ProducingTask, tasks: (A, B, C, D, E, F),
    produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
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
    producing: ProducingTask, tasks: (A, B, C, D, E, F, G),
    produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
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
    producing: ProducingTask, tasks: (A, B, C, D, E, F, G, H),
    produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
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
    producing: ProducingTask, tasks: (A, B, C, D, E, F, G, H, I),
    produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
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
    producing: ProducingTask, tasks: (A, B, C, D, E, F, G, H, I, J),
    produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: GroupCore<Output, Failure>(qos: qos, underlyingQueue: underlyingQueue), name: name,
      qos: qos, priority: priority, producing: producing, at: Birthplace(fileID, line))
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
    producing: ProducingTask, tasks: (repeat each T),
    produced: ProducerTask<Output, Failure>? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    var all: [any ProducerTaskProtocol] = []
    repeat all.append(each tasks)
    self.init(
      name: name, qos: qos, priority: priority, underlyingQueue: underlyingQueue,
      producing: producing, tasks: all, produced: produced, fileID: fileID, line: line)
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
  ///
  /// Override it to use the input, and call `super`.
  ///
  /// - Parameter consumed: The result of the task that is consumed.
  open override func execute(with consumed: Consumed) { group.begin() }

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
