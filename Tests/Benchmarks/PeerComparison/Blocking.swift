import Foundation
import Properations
import Workloads

/// A thousand jobs, one at a time, that occupy a queue until a callback comes.
///
/// The same: the callback comes from another queue, and the jobs stay in order. Not the
/// same: bare operations need a subclass of `Operation` that keeps its own state, as
/// `CallbackOperation` below.
func blocking() {
  let name = "1_000 blocking jobs on a serial queue"
  let callbacks = DispatchQueue(label: "callbacks")
  measure(name, .ours) {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let last = (0..<1000).map { value in
      Promises.makeBlocking(in: queue, promising: Int.self) { promise in
        callbacks.async { promise.succeed(with: value) }
      }
    }.last
    let result = try last?.wait()
    expect(result == 999)
  }
  measure(name, .operation) {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    for _ in 0..<1000 {
      queue.addOperation(CallbackOperation { done in callbacks.async { done() } })
    }
    queue.waitUntilAllOperationsAreFinished()
  }
}

/// An operation that finishes when it is called back.
private final class CallbackOperation: Operation, @unchecked Sendable {
  // Sendable: the operation is started once. The thread that finishes it writes the
  // state, and the queue reads the state after it has been notified.
  private let work: (@escaping @Sendable () -> Void) -> Void
  private nonisolated(unsafe) var isDone = false

  init(_ work: @escaping (@escaping @Sendable () -> Void) -> Void) { self.work = work }

  override var isAsynchronous: Bool { true }
  override var isFinished: Bool { isDone }
  override var isExecuting: Bool { false }
  override func start() {
    work { [self] in
      isDone = true
      didChangeValue(forKey: "isFinished")
    }
  }
}
