import Foundation
import Futures

/// A closure as a task.
///
/// ```swift
/// let answer = BlockProducerTask<Int, URLError> { task, finish in
///   guard !task.isCancelled else {
///     return finish(.failure(.internal(ProducerTaskError.cancelled)))
///   }
///   finish(.success(42))
/// }
/// ```
///
/// The closure gets the task and `finish`, and has to call that once, before it
/// returns or later, on any thread. Later calls change nothing.
public final class BlockProducerTask<Output: Sendable, Failure: Error>:
  ProducerTask<Output, Failure>, @unchecked Sendable
{
  // Sendable: adds no state.

  /// Takes the result of the closure.
  public typealias Finish = @Sendable (Produced) -> Void
  /// The work of the task.
  public typealias Block = @Sendable (BlockProducerTask, @escaping Finish) -> Void

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: A name for people; that of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the tasks of a queue that are ready.
  ///   - fileID: The file to name in descriptions; leave it out.
  ///   - line: The line to name in descriptions; leave it out.
  ///   - block: The work. It is released when it has run, or will not.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal,
    fileID: StaticString = #fileID, line: UInt = #line, block: @escaping Block
  ) {
    super.init(
      core: FinalTaskCore<Output, Failure>(), name: name, qos: qos, priority: priority,
      work: Work { task, _ in
        let task = unsafeDowncast(task, to: BlockProducerTask.self)
        block(task) { task.finish(with: $0) }
      }, at: Birthplace(fileID, line))
  }

  /// Runs the closure.
  public override func execute() { takeWork()?(self, self) }
}

/// A closure as a task that consumes another one's result.
public final class BlockConsumerProducerTask<Input: Sendable, Output: Sendable, Failure: Error>:
  ConsumerProducerTask<Input, Output, Failure>, @unchecked Sendable
{
  // Sendable: adds no state; `block` has a lock.

  /// Takes the result of the closure.
  public typealias Finish = @Sendable (Produced) -> Void
  /// The work of the task.
  public typealias Block = @Sendable (BlockConsumerProducerTask, Consumed, @escaping Finish) -> Void

  private let block: Lock<Block?>

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: A name for people; that of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the tasks of a queue that are ready.
  ///   - producing: The task whose result is consumed.
  ///   - fileID: The file to name in descriptions; leave it out.
  ///   - line: The line to name in descriptions; leave it out.
  ///   - block: The work. It is released when it has run, or will not.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, producing: ProducingTask,
    fileID: StaticString = #fileID, line: UInt = #line, block: @escaping Block
  ) {
    self.block = Lock(block)
    super.init(
      core: ReleasingCore<Output, Failure> { task in
        unsafeDowncast(task, to: BlockConsumerProducerTask.self).releaseBlock()
      }, name: name, qos: qos, priority: priority, producing: producing,
      at: Birthplace(fileID, line))
  }

  /// Runs the closure.
  public override func execute(with consumed: Consumed) {
    let block = block.withLock { $0.take() }
    block?(self, consumed) { self.finish(with: $0) }
  }

  private func releaseBlock() { block.replace(with: nil) }
}

/// The core of a task that has something to release when it ends.
final class ReleasingCore<Output: Sendable, Failure: Error>: FinalTaskCore<Output, Failure>,
  @unchecked Sendable
{
  // Sendable: the closure never changes and captures nothing.
  private let release: (AnyFuture) -> Void

  init(_ release: @escaping (AnyFuture) -> Void) { self.release = release }

  override func taskHasSettled(_ task: AnyFuture) { release(task) }
}
