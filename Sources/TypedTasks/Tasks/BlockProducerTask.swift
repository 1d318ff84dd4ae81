import Foundation
import Futures

/// A task that runs a closure.
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
/// The closure gets the task and `finish`. It must call `finish` once, before it returns
/// or later, on any thread. Later calls change nothing. If the closure releases `finish`
/// without a call, the task fails with ``ProducerTaskError/unfinished(task:createdAt:)``, or
/// ends as cancelled or timed out if it was asked to before.
/// The task keeps its slot and its categories until `finish` is called or released, even
/// if a timeout ends the task before.
///
/// Work that ends when the closure returns can simply return its value, or throw:
///
/// ```swift
/// let lines = BlockProducerTask<Int, any Error> { task in
///   try String(contentsOf: file, encoding: .utf8).split(separator: "\n").count
/// }
/// ```
public final class BlockProducerTask<Output: Sendable, Failure: Error>:
  ProducerTask<Output, Failure>, @unchecked Sendable
{
  // Sendable: adds no state.

  /// Takes the result of the closure.
  public typealias Finish = @Sendable (Produced) -> Void
  /// The work of the task.
  public typealias Block = @Sendable (BlockProducerTask, @escaping Finish) -> Void

  /// Makes a task from a closure that calls `finish`.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the ready tasks of a queue.
  ///   - block: The work. It is released after it has run, or when it can no longer run.
  @inlinable
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal,
    fileID: StaticString = #fileID, line: UInt = #line, block: @escaping Block
  ) {
    super.init(
      core: FinalTaskCore<Output, Failure>(), name: name, qos: qos, priority: priority,
      work: Work { task, _ in
        let task = unsafeDowncast(task, to: BlockProducerTask.self)
        let token = FinishToken(for: task)
        block(task) { token.finish(with: $0) }
      }, at: Birthplace(fileID, line))
  }

  /// Makes a task from a closure that returns its value.
  ///
  /// A thrown error is the task's `.provided` error and keeps its type. A
  /// `CancellationError` counts as cancellation. The error of a task with the same type
  /// of failure is used as it is.
  ///
  /// Swift infers `any Error` for a throwing closure that does not state its type of
  /// error. To state it, write `{ task throws(URLError) in ... }`.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the ready tasks of a queue.
  ///   - work: The work. It is released after it has run, or when it can no longer run.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal,
    fileID: StaticString = #fileID, line: UInt = #line,
    work: @escaping @Sendable (BlockProducerTask) throws(Failure) -> Output
  ) {
    super.init(
      core: FinalTaskCore<Output, Failure>(), name: name, qos: qos, priority: priority,
      work: Work { task, _ in
        let task = unsafeDowncast(task, to: BlockProducerTask.self)
        task.settle(with: task.makeResult { () throws(Failure) in try work(task) })
      }, at: Birthplace(fileID, line))
  }

  /// Runs the closure.
  public override func execute() { takeWork()?(self, self) }
}

extension ProducerTask {
  /// The result of a closure that returns a value or throws.
  final func makeResult(_ work: () throws(Failure) -> Output) -> Produced {
    do throws(Failure) {
      return .success(try work())
    } catch {
      return .failure(failure(ofThrown: error))
    }
  }

  /// The error of the task if its closure throws an error.
  ///
  /// Swift's `CancellationError` and the cancelled errors of the library cancel the task.
  final func failure(ofThrown error: Failure) -> ProducerTaskProtocolError<Failure> {
    // The error may come from a wait for another task.
    let cause = (error as? any TaskErrorWrapper)?.wrapped ?? error
    if cause.isCancellation || (cause as? ProducerTaskError)?.isCancelled == true {
      return .internal(core.errorOfCancellation(of: self))
    }
    return error as? ProducerTaskProtocolError<Failure> ?? .provided(error)
  }
}

/// A task that runs a closure with the result of another task.
///
/// ```swift
/// let size = BlockConsumerProducerTask(producing: page) { data in data.count }
/// let sizeOrZero = BlockConsumerProducerTask<Data, Int, any Error>(producing: page) {
///   task, consumed in
///   (try? consumed.get().count) ?? 0
/// }
/// ```
///
/// There are three kinds of closures. The first gets the value of the other task; if that
/// task has no value, this one fails like it. The second gets the whole result, which is a
/// value or an error. Both return a value or throw. The third gets the whole result and
/// `finish`, for work that continues elsewhere; see ``BlockProducerTask``.
public final class BlockConsumerProducerTask<Input: Sendable, Output: Sendable, Failure: Error>:
  ConsumerProducerTask<Input, Output, Failure>, @unchecked Sendable
{
  // Sendable: adds no state.

  /// Takes the result of the closure.
  public typealias Finish = @Sendable (Produced) -> Void
  /// The work of the task.
  public typealias Block = @Sendable (BlockConsumerProducerTask, Consumed, @escaping Finish) -> Void

  /// Makes a task from a closure that calls `finish`.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the ready tasks of a queue.
  ///   - producing: The task whose result is consumed.
  ///   - block: The work. It is released after it has run, or when it can no longer run.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, producing: ProducingTask,
    fileID: StaticString = #fileID, line: UInt = #line, block: @escaping Block
  ) {
    super.init(
      core: FinalTaskCore<Output, Failure>(), name: name, qos: qos, priority: priority,
      producing: producing,
      work: Work { task, _ in
        let task = unsafeDowncast(task, to: BlockConsumerProducerTask.self)
        guard let consumed = task.consumed else { return }
        let token = FinishToken(for: task)
        block(task, consumed) { token.finish(with: $0) }
      }, at: Birthplace(fileID, line))
  }

  /// Makes a task from a closure that returns its value.
  ///
  /// A thrown error is the task's `.provided` error and keeps its type. A
  /// `CancellationError` counts as cancellation. If the type of failure is `any Error`,
  /// an error thrown by `consumed.get()` becomes the task's own error unchanged.
  ///
  /// Swift infers `any Error` for a throwing closure that does not state its type of
  /// error. To state it, write `{ task, consumed throws(URLError) in ... }`.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the ready tasks of a queue.
  ///   - producing: The task whose result is consumed.
  ///   - work: The work. It is released after it has run, or when it can no longer run.
  public convenience init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, producing: ProducingTask,
    fileID: StaticString = #fileID, line: UInt = #line,
    work: @escaping @Sendable (BlockConsumerProducerTask, Consumed) throws(Failure) -> Output
  ) {
    self.init(
      name: name, qos: qos, priority: priority, producing: producing, fileID: fileID, line: line
    ) { task, consumed, finish in
      finish(task.makeResult { () throws(Failure) in try work(task, consumed) })
    }
  }

  /// Makes a task from a closure that gets the value of the other task.
  ///
  /// If the other task has failed or was cancelled, so does this one, with the same error.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the ready tasks of a queue.
  ///   - producing: The task whose value is consumed.
  ///   - transform: The work. A thrown error is the task's `.provided` error. It is
  ///     released after it has run, or when it can no longer run.
  public convenience init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, producing: ProducingTask,
    fileID: StaticString = #fileID, line: UInt = #line,
    transform: @escaping @Sendable (Input) throws(Failure) -> Output
  ) {
    self.init(
      name: name, qos: qos, priority: priority, producing: producing, fileID: fileID, line: line
    ) { task, consumed, finish in
      finish(
        consumed.flatMap { value in
          task.makeResult { () throws(Failure) in try transform(value) }
        })
    }
  }

  /// Makes a task from a closure that gets the value of the other task and does not throw.
  ///
  /// If the other task has failed or was cancelled, so does this one, with the same error.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the ready tasks of a queue.
  ///   - producing: The task whose value is consumed.
  ///   - transform: The work. It is released after it has run, or when it can no longer run.
  public convenience init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, producing: ProducingTask,
    fileID: StaticString = #fileID, line: UInt = #line,
    transform: @escaping @Sendable (Input) -> Output
  ) {
    // Of a closure that does not throw the compiler would infer `Never` as its `Failure`.
    self.init(
      name: name, qos: qos, priority: priority, producing: producing, fileID: fileID, line: line
    ) { _, consumed, finish in
      finish(consumed.map(transform))
    }
  }

  /// Runs the closure.
  public override func execute(with consumed: Consumed) { takeWork()?(self, self) }
}
