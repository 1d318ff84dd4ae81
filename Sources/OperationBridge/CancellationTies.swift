import Foundation
import Futures

extension Operation {
  /// Cancels this operation as soon as a future fails or is cancelled.
  ///
  /// Cancels it at once if that has happened already. The tie keeps neither the operation
  /// nor the future alive.
  ///
  /// - Parameter future: The future to watch.
  /// - Returns: This operation.
  @discardableResult
  public func cancel(onFailureOf future: AnyFuture) -> Self {
    let isTied = future.tie(self, onlyOnFailure: true)
    if !isTied, future.isSettled, future.outcome != .success { cancel() }
    return self
  }
}

extension AnyFuture {
  /// Cancels this future as soon as an operation has finished, cancelled or not.
  ///
  /// If the operation is a future, it counts as finished when it has settled. Cancels at once
  /// if the operation has finished or was cancelled already. The tie keeps neither the future nor
  /// the operation alive.
  ///
  /// - Parameter operation: The operation to watch.
  /// - Returns: This future.
  @discardableResult
  public func cancel(onFinishOf operation: Operation) -> Self {
    if let other = operation as? AnyFuture {
      if !other.tie(self, onlyOnFailure: false) { cancel() }
      return self
    }
    if !OperationWatch.tie(self, to: operation) || operation.isCancelled { cancel() }
    return self
  }
}
