import Foundation
import Futures

/// A task that runs an async closure.
///
/// ```swift
/// let page = AsyncBlockProducerTask<Data, URLError> { task throws(URLError) in
///   try await download(url)
/// }
/// ```
///
/// The returned value is the task's value. A thrown error is its `.provided` error. See
/// ``AsyncProducerTask`` for cancellation and slots.
public final class AsyncBlockProducerTask<Output: Sendable, Failure: Error>:
  AsyncProducerTask<Output, Failure>, @unchecked Sendable
{
  // Sendable: adds no state.

  /// The work of the task.
  public typealias Block = @Sendable (AsyncBlockProducerTask) async throws(Failure) -> Output

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: A name for descriptions; the name of the type if `nil`.
  ///   - qos: The quality of service of the work.
  ///   - priority: The priority among the ready tasks of a queue.
  ///   - block: The work. It is released after it has run, or when it can no longer run.
  public init(
    name: String? = nil, qos: QualityOfService = .default,
    priority: Operation.QueuePriority = .normal,
    fileID: StaticString = #fileID, line: UInt = #line, block: @escaping Block
  ) {
    super.init(
      core: AsyncTaskCore<Output, Failure> { task async throws(Failure) -> Output in
        try await block(unsafeDowncast(task, to: AsyncBlockProducerTask.self))
      }, name: name, qos: qos, priority: priority, at: Birthplace(fileID, line))
  }
}
