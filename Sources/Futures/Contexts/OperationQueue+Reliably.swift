import Foundation

extension OperationQueue {
  /// Adds a future as an operation.
  ///
  /// This is the method that `queue.addOperation(future)` calls. It does the same as
  /// Foundation's method, and tells the future that the queue has it, which nothing else
  /// does on Apple platforms. Where the compiler knows the future as an `Operation` only, it
  /// calls Foundation's own method: there a future that settles in a queue which is
  /// suspended or busy finishes after a tenth of a second, although the queue has not
  /// started it, and Foundation logs that.
  ///
  /// - Parameter future: A future that is in no queue.
  public func addOperation(_ future: AnyFuture) {
    future.willBeAdded(to: self)
    addOperation(future as Operation)
    future.startBecauseObserved()
  }

  /// Adds an operation so that it is started whenever it becomes ready.
  ///
  /// `addOperation` on Linux asks `isReady` and then adopts the operation; a
  /// readiness that comes in between is lost, and the operation is never
  /// started. Saying it once more afterwards closes the gap. Everything that
  /// the library puts in a queue comes through here.
  package func addReliably(_ operation: Operation) {
    SchedulingPoints.handOff()
    addOperation(operation)
    repeatReadiness(of: operation)
  }

  /// Says once more that an operation that was just added is ready, if it is:
  /// for a queue whose own `addOperation` does more than add.
  @inline(__always)
  package func repeatReadiness(of operation: Operation) {
    #if !canImport(Darwin)
      // A batch was ready before: there was no readiness to lose.
      if !(operation is BatchOperation), operation.isReady, !operation.isFinished {
        operation.didChangeValue(forKey: "isReady")
      }
    #endif
  }
}
