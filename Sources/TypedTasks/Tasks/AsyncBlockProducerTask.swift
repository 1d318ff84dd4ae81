import Foundation
import Futures

/// An async closure as a task.
///
/// ```swift
/// let page = AsyncBlockProducerTask<Data, URLError> { task throws(URLError) in
///   try await download(url)
/// }
/// ```
///
/// What the closure returns is the value; what it throws is the `.provided` error. See
/// ``AsyncProducerTask`` for cancellation and slots.
public final class AsyncBlockProducerTask<Output: Sendable, Failure: Error>:
  AsyncProducerTask<Output, Failure>, @unchecked Sendable
{
  // Sendable: `block` has a lock.

  /// The work of the task.
  public typealias Block = @Sendable (AsyncBlockProducerTask) async throws(Failure) -> Output

  private let block: Lock<Block?>

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
    self.block = Lock(block)
    super.init(name: name, qos: qos, priority: priority, fileID: fileID, line: line)
  }

  override func takeAsyncWork() -> (@Sendable () async throws(Failure) -> Output)? {
    guard let block = block.withLock({ $0.take() }) else { return nil }
    return { () async throws(Failure) -> Output in try await block(self) }
  }
}
