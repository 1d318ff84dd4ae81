import Foundation

/// A chain of closures as Foundation has it: operations in a queue, each of
/// which depends on the one before.
///
/// The same as a chain of ours on one queue: all of it is there before the
/// first closure runs, and one closure runs after the other in the queue. Not
/// the same: no value goes from one to the next.
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

/// An operation in no queue that finishes by hand.
package final class BareGate: Operation, @unchecked Sendable {
  // Sendable: set once, by the thread that says so afterwards.
  private nonisolated(unsafe) var isOpen = false
  package override var isFinished: Bool { isOpen }

  package func open() {
    isOpen = true
    didChangeValue(forKey: "isFinished")
  }
}
