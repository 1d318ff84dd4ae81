import Foundation
import Futures

/// A task that has an input: the result of another task.
public protocol ConsumerProducerTaskProtocol: ProducerTaskProtocol {
  /// The type of the other task's value.
  associatedtype Input: Sendable

  /// The task whose result is consumed.
  typealias ProducingTask = ProducerTask<Input, Failure>
  /// The result that is consumed.
  typealias Consumed = ProducingTask.Produced

  /// The task whose result is consumed.
  var producing: ProducingTask { get }
  /// The result of ``producing``, or `nil` while there is none.
  var consumed: Consumed? { get }
  /// Does the task's work.
  func execute(with consumed: Consumed)
}

/// A task that makes its value from the result of another task, its producer.
///
/// Subclass it and override ``execute(with:)``. The task depends on its producer and gets
/// the whole result, which is a value or an error. Both tasks have the same type of
/// failure.
///
/// Add both tasks to a queue, in any order, or each to a queue of its own. A consumer in
/// a queue waits until its producer is added too; its description and
/// ``TaskQueue/debugDescription`` say so. If you do not add the consumer yourself, its
/// producer is added with it unless it is in a queue already. This applies to a consumer
/// with a downstream operator, to a member of a group, and to a task that a `flatMap`
/// continues with.
///
/// A consumer that is cancelled before its producer has finished asks the producer to
/// cancel, if the producer came into its queue with the consumer and has no other
/// consumer. A producer that you have added yourself continues.
///
/// ```swift
/// final class Resize: ConsumerProducerTask<Data, Data, ImageError>, @unchecked Sendable {
///   override func execute(with consumed: Consumed) {
///     finish(with: consumed.map { data in data.prefix(1024) })
///   }
/// }
/// ```
open class ConsumerProducerTask<Input: Sendable, Output: Sendable, Failure: Error>:
  ProducerTask<Output, Failure>, ConsumerProducerTaskProtocol, @unchecked Sendable
{
  // Sendable: adds no state.

  /// The task whose result is consumed.
  public typealias ProducingTask = ProducerTask<Input, Failure>
  /// The result that is consumed.
  public typealias Consumed = ProducingTask.Produced

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the ready tasks of a queue.
  ///   - producing: The task whose result is consumed.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, producing: ProducingTask,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    super.init(
      core: TypedTaskCore<Output, Failure>(), name: name, qos: qos, priority: priority,
      at: Birthplace(fileID, line))
    core.consume(producing, self)
  }

  /// Makes a task of this module.
  // `@usableFromInline` for the same reason as in `ProducerTask`.
  @usableFromInline
  init(
    core: any FutureBehaviour, name: String?, qos: QualityOfService,
    priority: Operation.QueuePriority,
    producing: ProducingTask, work: Work? = nil, at birthplace: Birthplace
  ) {
    super.init(core: core, name: name, qos: qos, priority: priority, work: work, at: birthplace)
    self.core.consume(producing, self)
  }

  /// The task whose result is consumed.
  public final var producing: ProducingTask {
    unsafeDowncast(core.sources[0], to: ProducingTask.self)
  }

  /// The result of the task that is consumed, or `nil` while there is none.
  open var consumed: Consumed? { producing.produced }

  /// Calls ``execute(with:)``, or fails with ``ProducerTaskError/producingFailure`` if
  /// there is no result to consume.
  open override func execute() {
    guard let consumed else {
      return finish(with: .failure(.internal(ProducerTaskError.producingFailure)))
    }
    execute(with: consumed)
  }

  /// The work of the task; override this method.
  ///
  /// See ``ProducerTask/execute()``.
  ///
  /// - Parameter consumed: The result of ``producing``.
  /// - Precondition: A subclass overrides this method. The base method stops the process
  ///   with a message.
  open func execute(with consumed: Consumed) {
    // `preconditionFailure` prints no message in optimised builds.
    fatalError(
      "\(String(describing: Self.self)).execute(with:) must be overridden. Do the work there and "
        + "call finish(with:).")
  }
}

extension TaskCore {
  /// Makes the task depend on its producer, and keep it.
  final func consume(_ producing: AnyFuture, _ task: AnyFuture) {
    state.withLock { $0.more.sources = [producing] }
    addDependency(producing, to: task)
  }

  /// The producer that a consumer waits for, if the producer is in no queue yet.
  final var unqueuedProducer: (AnyFuture, TaskCore)? {
    let producer: AnyFuture? = state.withLock { state in
      guard let extras = state.extras, let producer = extras.sources.first else { return nil }
      return extras.dependencies.contains(Dependency.id(of: producer)) ? producer : nil
    }
    guard let producer, let core = producer.taskCore, core.phase == .created else { return nil }
    return (producer, core)
  }
}
