import Foundation

/// Makes a future wait until an operation has finished.
///
/// The waiter does not keep the operation, so the release of an operation that was never
/// started breaks the promise of the future. For a future the waiter is an entry in its
/// list of waiters. For any other operation it uses an `OperationWatch`.
private final class OperationWaiter: InputWaiter, @unchecked Sendable {
  // Sendable: `registration` has a lock; nothing else changes.
  private let id: ObjectIdentifier
  private let registration = Lock<Registration?>(nil)
  private let target: Future<FinishedOperation>
  private weak var watched: Operation?

  init(for target: Future<FinishedOperation>, of operation: Operation) {
    self.target = target
    id = ObjectIdentifier(operation)
    watched = operation is AnyFuture ? nil : operation
    super.init(edge: (operation as? AnyFuture)?.edge ?? .none)
  }

  func start(waitingFor operation: Operation) {
    if let future = operation as? AnyFuture {
      future.attach(.callback(self))
      future.pin()
      return
    }
    registration.replace(
      with: OperationWatch.add(to: operation) { [target] operation in
        if let operation {
          target.settle(likeFinished: operation)
        } else {
          target.breakPromise()
        }
      })
    if target.isSettled { withdraw(cancelling: false) }
  }

  // If a promise was dropped, `source` is another object that has failed in its place.
  override func deliver(_ source: AnyFuture) {
    if let error = source.anyError, ObjectIdentifier(source) != id {
      target.settle(failure: error, from: .upstream)
    } else {
      target.settle(likeFinished: source)
    }
  }

  override var downstreams: [AnyFuture] { [target] }
  override var isDone: Bool { target.isSettled }
  override var waitsForFinish: Bool { true }
  override var operation: Operation? { watched }

  override func withdraw(cancelling: Bool) {
    registration.withLock { $0.take() }?.end()
    future?.detach(.callback(self), cancelling: false)
  }
}

/// An operation that has finished.
package struct FinishedOperation: @unchecked Sendable {
  // Sendable: operations may be used from any thread.
  package let operation: Operation
}

extension Future where Success == FinishedOperation {
  /// Makes a future that succeeds when an operation has finished, and is cancelled if the
  /// operation was cancelled.
  package static func awaiting(
    _ operation: Operation, fileID: StaticString, line: UInt
  ) -> Future<FinishedOperation> {
    let future = Future(traits: [], at: Birthplace(fileID, line))
    let waiter = OperationWaiter(for: future, of: operation)
    _ = future.storage.wait(for: .source(waiter))
    waiter.start(waitingFor: operation)
    return future
  }

  fileprivate func settle(likeFinished operation: Operation) {
    if operation.isCancelled {
      settle(failure: ProperationsError.cancelled, from: .upstream)
    } else {
      settle(success: FinishedOperation(operation: operation), from: .upstream)
    }
  }
}
