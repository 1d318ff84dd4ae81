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
    let isWatching = future.watch { [weak self] future in
      if future.hasFailed { self?.cancel() }
    }
    if !isWatching, future.hasFailed { cancel() }
    return self
  }
}

extension AnyFuture {
  /// Cancels this future as soon as an operation has finished, done or cancelled.
  ///
  /// At once if it has already. The tie keeps neither of the two. It uses the
  /// operation's completion block: one that is set before is kept, one that is
  /// set afterwards unties the two. (Another future is watched directly.)
  ///
  /// - Parameter operation: The operation to watch.
  /// - Returns: This very future.
  @discardableResult
  public func cancel(onFinishOf operation: Operation) -> Self {
    if let other = operation as? AnyFuture {
      if !other.watch({ [weak self] _ in self?.cancel() }) { cancel() }
      return self
    }
    let previous = operation.completionBlock
    operation.completionBlock = { [weak self] in
      previous?()
      self?.cancel()
    }
    if operation.isFinished { cancel() }
    return self
  }

  fileprivate var hasFailed: Bool { isFulfilled && anyError != nil }
}
