import Foundation

extension OperationQueue {
  /// Adds a future as an operation.
  ///
  /// `queue.addOperation(future)` calls this method. It does the same as Foundation's
  /// method, and also tells the future that the queue holds it, which nothing else does
  /// on Apple platforms. If the compiler knows the future only as an `Operation`, it
  /// calls Foundation's own method. Then a future that settles in a suspended or busy
  /// queue finishes after a tenth of a second, although the queue has not started it, and
  /// Foundation logs that.
  ///
  /// - Parameter future: A future that is in no queue.
  public func addOperation(_ future: AnyFuture) {
    future.willBeAdded(to: self)
    addOperation(future as Operation)
    future.hasBeenAdded()
    future.startBecauseObserved()
  }

  /// Adds an operation so that the queue starts it whenever it becomes ready.
  ///
  /// On Linux `addOperation` reads `isReady` and then adopts the operation. Readiness
  /// that arrives in between is lost, and the operation is never started. Posting it once
  /// more afterwards closes the gap. Every operation that the library puts in a queue
  /// comes through here.
  package func addReliably(_ operation: Operation) {
    SchedulingPoints.handOff()
    addOperation(operation)
    repeatReadiness(of: operation)
  }

  /// Adds an operation, unless it is a future that has finished.
  ///
  /// For operations of the user: a future may settle at this moment, or may be lazy.
  package func addUnlessFinished(_ operation: Operation) {
    let future = operation as? AnyFuture
    // A task queue looks at its operations itself.
    if let future, !(self is any SlotQueue), !future.prepareForQueue() { return }
    addReliably(operation)
    future?.hasBeenAdded()
    future?.startBecauseObserved()
  }

  /// Posts once more that an operation that was just added is ready, if it is.
  ///
  /// Call it directly for a queue whose own `addOperation` does more than add.
  @inline(__always)
  package func repeatReadiness(of operation: Operation) {
    #if !canImport(Darwin)
      // A batch operation was ready before: there was no readiness to lose.
      if !(operation is BatchOperation), operation.isReady, !operation.isFinished {
        // A subclass may pass the operation on later, on another thread.
        if type(of: self) != OperationQueue.self { return operation.postReadiness() }
        operation.didChangeValue(forKey: "isReady")
      }
    #endif
  }
}
