import Foundation
import Futures

extension OperationQueue {
  /// Puts a future in the queue.
  ///
  /// A pending future costs the queue nothing and holds no slot. It belongs to the queue
  /// until it has finished. A ``BlockingPromise`` takes a slot as soon as one is free.
  /// Cancelling the queue's operations cancels the future, and waiting for them waits for
  /// the future.
  ///
  /// Reading `isReady` of a future puts it in no queue. If a second queue gets the future
  /// by a plain `addOperation(_:)` afterwards, the future belongs to both queues:
  /// cancelling the operations of either cancels it.
  ///
  /// - Parameter future: A future that has been in no queue yet.
  /// - Throws: `ProperationsError.alreadyEnqueued` if the future is, or was, in a queue;
  ///   `ProperationsError.queueIsShutDown` if the queue takes no new work. Nothing changes
  ///   then.
  public func addFuture(_ future: AnyFuture) throws(ProperationsError) {
    if let refusal { throw refusal }
    guard future.join(self) else { throw .alreadyEnqueued(createdAt: future.createdAt) }
    // The queue may have been shut down meanwhile.
    if ShutDownQueues.phase(of: self) == .over { future.cancel() }
  }

  /// Runs a closure as an operation of the queue.
  ///
  /// Cancelling the queue's operations cancels the future. The closure then does not run
  /// if it still waits. A cancelled barrier holds back the operations behind it until the
  /// operations in front of it have finished.
  ///
  /// - Parameters:
  ///   - barrier: `true` to run the closure as a barrier: after all operations that are
  ///     in the queue have finished, and before operations that are added later. If one of
  ///     the former waits for a closure that is ready only later, the barrier waits for that
  ///     closure, too (on Linux, in a queue that is of no subclass). It has to be known when the
  ///     closure becomes ready: not if the operation comes to wait for it only later, because a
  ///     `mapToFuture`, a retry or a traversal has begun the closure in this queue. On Linux,
  ///     do not cancel one of these later operations by itself while it waits for the
  ///     barrier, unless it is a future or works for one: Foundation keeps an unowned
  ///     pointer to it, and crashes. `cancelAllOperations()` is safe. What another thread adds
  ///     at that moment may begin beside a cancelled async closure that still runs.
  ///   - body: The work.
  /// - Returns: A future of what the closure returns or throws. If the queue is shut down,
  ///   the closure does not run, and the future fails with
  ///   `ProperationsError.queueIsShutDown`.
  /// - Complexity: O(1); for a barrier in a queue of n operations O(n), on Linux O(n²), which is
  ///   what Foundation needs for one.
  public func run<Success: Sendable>(
    barrier: Bool = false, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable () throws -> Success
  ) -> Future<Success> {
    if let refusal { return Promises.makeFailed(with: refusal, fileID: fileID, line: line) }
    // The queue may start the closure between the end of its time and the cancellation of
    // what it still holds.
    let unlessOver: @Sendable () throws -> Success = {
      if ShutDownQueues.phase(of: self) == .over { throw ProperationsError.cancelled }
      return try body()
    }
    let future =
      barrier
      ? Promises.run(on: BarrierContext(queue: self), fileID: fileID, line: line, unlessOver)
      : Promises.run(on: self, fileID: fileID, line: line, unlessOver)
    if ShutDownQueues.phase(of: self) == .over { future.cancel() }
    return future
  }
}
