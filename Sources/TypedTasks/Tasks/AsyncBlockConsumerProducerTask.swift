import Foundation
import Futures

/// A task that runs an async closure with the result of another task.
///
/// ```swift
/// let stored = AsyncBlockConsumerProducerTask(producing: page) { data in
///   try await store(data)
/// }
/// ```
///
/// The closure gets the value of the other task; if that task has no value, this one fails
/// like it. Or the closure gets this task and the whole result, which is a value or an
/// error: `{ task, consumed in ... }`. The returned value is the task's value. A thrown
/// error is its `.provided` error; if the type of failure is `any Error`, an error thrown
/// by `consumed.get()` becomes the task's own error unchanged. See ``AsyncProducerTask`` for cancellation and slots, and ``ConsumerProducerTask`` for
/// the task that is consumed.
public final class AsyncBlockConsumerProducerTask<
  Input: Sendable, Output: Sendable, Failure: Error
>: ConsumerProducerTask<Input, Output, Failure>, @unchecked Sendable {
  // Sendable: `needsValue` never changes.

  /// Whether the closure gets a value, not a result.
  private let needsValue: Bool

  /// The work of the task.
  public typealias Block =
    @Sendable (AsyncBlockConsumerProducerTask, Consumed) async throws(Failure) -> Output

  /// Makes a task.
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
    needsValue = false
    super.init(
      core: AsyncTaskCore<Output, Failure> { task async throws(Failure) -> Output in
        let task = unsafeDowncast(task, to: AsyncBlockConsumerProducerTask.self)
        return try await block(task, task.producing.settledProduced)
      }, name: name, qos: qos, priority: priority, producing: producing,
      at: Birthplace(fileID, line))
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
  ///   - transform: The work. It is released after it has run, or when it can no longer run.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal, producing: ProducingTask,
    fileID: StaticString = #fileID, line: UInt = #line,
    transform: @escaping @Sendable (Input) async throws(Failure) -> Output
  ) {
    needsValue = true
    super.init(
      core: AsyncTaskCore<Output, Failure> { task async throws(Failure) -> Output in
        let task = unsafeDowncast(task, to: AsyncBlockConsumerProducerTask.self)
        return try await transform(task.producing.settledValue)
      }, name: name, qos: qos, priority: priority, producing: producing,
      at: Birthplace(fileID, line))
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
    transform: @escaping @Sendable (Input) async -> Output
  ) {
    // Of a closure that does not throw the compiler would infer `Never` as its `Failure`.
    self.init(
      name: name, qos: qos, priority: priority, producing: producing, fileID: fileID, line: line
    ) { (value: Input) async throws(Failure) -> Output in await transform(value) }
  }

  /// Runs the closure in a Swift task.
  public override func execute(with consumed: Consumed) {
    if needsValue, case .failure(let error) = consumed {
      return finish(with: .failure(error))
    }
    beginAsyncWork()
  }
}
