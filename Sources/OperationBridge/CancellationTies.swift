import Foundation
import Futures

extension Operation {
  /// Cancels this operation as soon as a future fails or is cancelled.
  ///
  /// At once if it has already. The tie keeps neither of the two.
  ///
  /// - Parameter future: The future to watch.
  /// - Returns: This very operation.
  @discardableResult
  public func cancel(onFailureOf future: AnyFuture) -> Self {
    if !future.tie(self, onlyOnFailure: true), future.anyError != nil { cancel() }
    return self
  }
}

extension AnyFuture {
  /// Cancels this future as soon as an operation has finished, cancelled or not.
  ///
  /// At once if it has already, or was cancelled before. The tie keeps neither
  /// of the two.
  ///
  /// - Parameter operation: The operation to watch.
  /// - Returns: This very future.
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
