#if !canImport(Darwin)

  import Foundation

  // What other code asks about the barriers of a queue that is no task queue.

  extension OperationQueue {
    /// The closures of barriers that wait to run.
    ///
    /// - Parameter operations: The operations of the queue.
    func waitingBarriers(among operations: [Operation]) -> [Operation] {
      // Each is asked once, because the barriers go on meanwhile.
      operations.compactMap { $0 as? BarrierOperation }.filter { !$0.isExecuting }
        .flatMap(\.work).filter { !$0.isExecuting }
    }

    /// The identities of the futures that wait for a barrier of the queue, or are one.
    ///
    /// A late barrier that does not wait for the caller is left out.
    ///
    /// - Parameter running: The futures whose closures run in the caller.
    func futuresBehindOwnBarriers(of running: [AnyFuture]) -> Set<ObjectIdentifier> {
      guard BarrierOperation.exist(in: self) else { return [] }
      var (futures, isBehind) = (Set<ObjectIdentifier>(), false)
      let operations = operations
      let others = BarrierOperation.lateBarriers(among: operations, notWaitingFor: running)
      for operation in operations where !operation.isFinished {
        if others.contains(ObjectIdentifier(operation)) { continue }
        isBehind = isBehind || operation is BarrierOperation
        guard isBehind, !operation.isExecuting else { continue }
        // It has passed the barrier, or the barrier has ended, and it waits for a slot only.
        if let placeholder = operation as? PlaceholderOperation, placeholder.isReady { continue }
        if let future = operation as? AnyFuture {
          if future.traits.contains(.occupiesQueue) { futures.insert(ObjectIdentifier(future)) }
        } else {
          futures.formUnion(operation.futuresThatNeedSlots.map { ObjectIdentifier($0) })
        }
      }
      return futures
    }
  }

#endif
