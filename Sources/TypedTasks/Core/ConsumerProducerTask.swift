import Foundation
import Futures

/// A task that has an input: the result of another task.
public protocol ConsumerProducerTaskProtocol: ProducerTaskProtocol {
  /// What the other task produces.
  associatedtype Input: Sendable

  /// The task whose result is consumed.
  typealias ProducingTask = ProducerTask<Input, Failure>
  /// The result that is consumed.
  typealias Consumed = ProducingTask.Produced

  /// The task whose result is consumed.
  var producing: ProducingTask { get }
  /// Its result, or `nil` while there is none.
  var consumed: Consumed? { get }
  /// The task's work.
  func execute(with consumed: Consumed)
}

/// A task that makes its value of another task's result.
///
/// Subclass it and override ``execute(with:)``. It depends on the other task,
/// and gets its whole result, whether that is a value or an error. They share
/// their type of failure.
///
/// Add both to a queue, in any order, or each to a queue of its own. A consumer
/// that is in a queue waits until somebody adds the other task, too; its
/// description, and ``TaskQueue/debugDescription``, say so. Where you do not add
/// the consumer yourself (there is an operator below it, it is a member of a
/// group, a `flatMap` goes on with it), the other task is added with it, unless
/// it is in a queue already.
///
/// A consumer that is cancelled before the other task has finished asks that one
/// to cancel if it came into its queue with the consumer and nothing else wants its
/// value. A task that you have added yourself goes on.
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
  ///   - name: A name for people; that of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the tasks of a queue that are ready.
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

  /// For the tasks of this module.
  // (See the same of `ProducerTask`.)
  @usableFromInline
  init(
    core: any FutureBehaviour, name: String?, qos: QualityOfService,
    priority: Operation.QueuePriority,
    producing: ProducingTask, at birthplace: Birthplace
  ) {
    super.init(core: core, name: name, qos: qos, priority: priority, at: birthplace)
    self.core.consume(producing, self)
  }

  /// The task whose result is consumed.
  public final var producing: ProducingTask {
    unsafeDowncast(core.sources[0], to: ProducingTask.self)
  }

  /// The result of the task that is consumed, or `nil` while there is none.
  open var consumed: Consumed? { producing.produced }

  /// Calls ``execute(with:)``, or fails with
  /// ``ProducerTaskError/producingFailure`` if there is nothing to consume.
  open override func execute() {
    guard let consumed else {
      return finish(with: .failure(.internal(ProducerTaskError.producingFailure)))
    }
    execute(with: consumed)
  }

  /// The work of the task: override it.
  ///
  /// See ``ProducerTask/execute()``.
  ///
  /// - Parameter consumed: The result of ``producing``.
  /// - Precondition: A subclass overrides it; this one traps, and says so.
  open func execute(with consumed: Consumed) {
    // (`preconditionFailure` says nothing in optimised builds.)
    fatalError(
      "\(String(describing: Self.self)).execute(with:) must be overridden. Do the work there and "
        + "call finish(with:).")
  }
}

extension TaskCore {
  /// Makes the task depend on the one whose result it consumes, and keep it.
  final func consume(_ producing: AnyFuture, _ task: AnyFuture) {
    state.withLock { $0.sources = [producing] }
    addDependency(producing, to: task)
  }

  /// The task that a consumer waits for, if that is in no queue yet.
  final var unqueuedProducer: (AnyFuture, TaskCore)? {
    let producer: AnyFuture? = state.withLock { state in
      guard let producer = state.extras?.sources.first else { return nil }
      return state.dependencies.contains(producer) ? producer : nil
    }
    guard let producer, let core = producer.taskCore, core.phase == .created else { return nil }
    return (producer, core)
  }
}
