import Foundation
import Properations
import Workloads

/// A thousand jobs one at a time, each of which occupies its queue until a
/// callback comes.
///
/// The same: the callback comes from another queue, and nothing overtakes. Not
/// the same: with bare operations one subclasses `Operation` and keeps its
/// state oneself, which is what `CallbackOperation` below does.
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

/// An operation that ends when it is called back.
private final class CallbackOperation: Operation, @unchecked Sendable {
  // Sendable: started once; the state is written by whoever finishes it, and
  // the queue looks at it when it has been told.
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
