import Foundation
import Futures

/// A task that runs an async closure with the result of another task.
///
/// ```swift
/// let stored = AsyncBlockConsumerProducerTask<Data, URL, any Error>(producing: page) {
///   task, consumed in
///   try await store(consumed.get())
/// }
/// ```
///
/// The closure gets the whole result, which is a value or an error. The returned value is
/// the task's value. A thrown error is its `.provided` error; if the type of failure is
/// `any Error`, an error thrown by `consumed.get()` becomes the task's own error unchanged.
/// See ``AsyncProducerTask`` for cancellation and slots, and ``ConsumerProducerTask`` for
/// the task that is consumed.
public final class AsyncBlockConsumerProducerTask<
  Input: Sendable, Output: Sendable, Failure: Error
>: ConsumerProducerTask<Input, Output, Failure>, @unchecked Sendable {
  // Sendable: adds no state.

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
    super.init(
      core: AsyncTaskCore<Output, Failure> { task async throws(Failure) -> Output in
        let task = unsafeDowncast(task, to: AsyncBlockConsumerProducerTask.self)
        return try await block(task, task.producing.settledProduced)
      }, name: name, qos: qos, priority: priority, producing: producing,
      at: Birthplace(fileID, line))
  }

  /// Runs the closure in a Swift task.
  public override func execute(with consumed: Consumed) { beginAsyncWork() }
}
