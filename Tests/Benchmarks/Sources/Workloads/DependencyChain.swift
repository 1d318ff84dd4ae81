import Foundation

/// A chain of closures in Foundation's way: operations in a queue, each with a dependency
/// on the previous one.
///
/// The same as in our chain on one queue: all objects exist before the first closure
/// runs, and the closures run one after the other in the queue. Not the same: no value
/// goes from one closure to the next.
package enum DependencyChain {
  @inline(never)
  package static func run(length: Int) {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let gate = BareGate()
    var last: Operation = gate
    for _ in 0..<length {
      let link = BlockOperation {}
      link.addDependency(last)
      queue.addOperation(link)
      last = link
    }
    gate.open()
    last.waitUntilFinished()
  }
}

/// An operation in no queue that is finished by a call.
package final class BareGate: Operation, @unchecked Sendable {
  // Sendable: set once, by the thread that then sends the notification.
  private nonisolated(unsafe) var isOpen = false
  package override var isFinished: Bool { isOpen }

  package func open() {
    isOpen = true
    didChangeValue(forKey: "isFinished")
  }
}
