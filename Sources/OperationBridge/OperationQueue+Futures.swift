import Foundation
import Futures

extension OperationQueue {
  /// Puts a future in the queue.
  ///
  /// A pending future costs the queue nothing and holds no slot; it belongs to
  /// the queue until it has finished. A ``BlockingPromise`` takes a slot as soon as
  /// it gets one. Cancelling the queue's operations cancels the future, waiting for
  /// them waits for it.
  ///
  /// Reading `isReady` of a future puts it in no queue. If a second queue gets the
  /// future by a plain `addOperation(_:)` afterwards, it belongs to both queues:
  /// cancelling the operations of either cancels it.
  ///
  /// - Parameter future: A future that has been in no queue yet.
  /// - Throws: `ProperationsError.alreadyEnqueued` if it is, or was, in a
  ///   queue. Nothing changes then.
  public func addFuture(_ future: AnyFuture) throws(ProperationsError) {
    guard future.join(self) else { throw .alreadyEnqueued(createdAt: future.createdAt) }
  }

  /// Runs a closure as an operation of the queue.
  ///
  /// Cancelling the queue's operations cancels the future, and the closure does not
  /// run if it still waits. A cancelled barrier holds the operations behind it back
  /// until those in front of it have finished.
  ///
  /// - Parameters:
  ///   - barrier: `true` to run the closure when all operations that are in the queue
  ///     have finished, and to hold back operations that are added later until it has
  ///     returned.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - body: The work.
  /// - Returns: A future of what the closure returns or throws.
  public func run<Success: Sendable>(
    barrier: Bool = false, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable () throws -> Success
  ) -> Future<Success> {
    barrier
      ? Promises.run(on: BarrierContext(queue: self), fileID: fileID, line: line, body)
      : Promises.run(on: self, fileID: fileID, line: line, body)
  }
}
