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
    hasAdded(future)
    future.startBecauseObserved()
  }

  /// Adds futures as operations.
  ///
  /// `queue.addOperations(futures, waitUntilFinished: false)` calls this method if the
  /// compiler knows all elements as futures. It does for each what `addOperation(_:)` does,
  /// and passes them to Foundation's method in one call. For an array that also has other
  /// operations, and is therefore a `[Operation]`, the compiler calls Foundation's own
  /// method.
  ///
  /// - Parameters:
  ///   - futures: Futures that are in no queue, each once.
  ///   - wait: Whether to block the calling thread until all have finished.
  /// - Precondition: If the call waits: no future needs the calling queue or the calling
  ///   closure to finish. Otherwise the call would never return, and traps.
  public func addOperations(_ futures: [AnyFuture], waitUntilFinished wait: Bool) {
    for future in futures { future.willBeAdded(to: self) }
    // Waiting comes later: a lazy future starts only below.
    addOperations(futures as [Operation], waitUntilFinished: false)
    for future in futures { hasAdded(future) }
    for future in futures { future.startBecauseObserved() }
    if wait { for future in futures { future.waitUntilFinished() } }
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
    if let future, !(self is any SlotQueue) {
      future.behaviour?.willBeAdded(future, to: self)
      if !future.prepareForQueue() { return }
    }
    addReliably(operation)
    guard let future else { return }
    hasAdded(future)
    future.startBecauseObserved()
  }

  /// Records that the queue has a future, unless it is a task queue, which does so itself,
  /// perhaps later.
  private func hasAdded(_ future: AnyFuture) {
    if !(self is any SlotQueue) { future.hasBeenAdded() }
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
