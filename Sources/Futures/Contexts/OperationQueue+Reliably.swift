import Foundation

extension OperationQueue {
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
