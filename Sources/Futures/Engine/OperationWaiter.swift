import Foundation

/// Makes a future wait for an operation that is not one.
private final class OperationWaiter: CallbackWaiter, @unchecked Sendable {
  // Sendable: `observer` has a lock of its own.
  private let observer: FinishObserver

  init(of operation: Operation, for future: Future<Void>) {
    observer = FinishObserver(armedFor: operation) { operation in
      if operation.isCancelled {
        future.settle(failure: ProperationsError.cancelled, from: .upstream)
      } else {
        future.settle(success: (), from: .upstream)
      }
    }
  }

  func start(observing operation: Operation) { observer.start(observing: operation) }

  override var operation: Operation? { observer.operation }

  override func withdraw(cancelling: Bool) { observer.stop() }
}

extension Future where Success == Void {
  /// Makes a future that succeeds when an operation has finished, and is
  /// cancelled if the operation was.
  package static func awaiting(
    _ operation: Operation, fileID: StaticString, line: UInt
  ) -> Future<Void> {
    let future = Future(traits: [], at: Birthplace(fileID, line))
    let waiter = OperationWaiter(of: operation, for: future)
    _ = future.storage.retarget(.source(waiter))
    waiter.start(observing: operation)
    return future
  }
}
