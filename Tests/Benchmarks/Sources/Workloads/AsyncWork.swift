import Foundation
import Properations
import Synchronization

/// Async closures that queues start.
///
/// The same: number of closures, queue, and the work of each, which suspends once and counts.
/// Not the same: the bare side gives its slot back as soon as it has made the Swift task, so
/// nothing limits the tasks; they can be neither awaited nor cancelled.
package enum AsyncWork {
  /// Makes a queue that runs two operations at once.
  package static func queue() -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    return queue
  }

  /// Runs async closures in the slots of a queue.
  @inline(never)
  package static func ours(count: Int, in queue: OperationQueue) {
    let latch = Latch(count)
    for _ in 0..<count {
      _ = queue.run {
        await Task.yield()
        latch.add(1)
      }
    }
    latch.wait()
  }

  /// Makes a Swift task in each operation of a queue.
  @inline(never)
  package static func bare(count: Int, in queue: OperationQueue) {
    let latch = Latch(count)
    for _ in 0..<count {
      queue.addOperation {
        Task {
          await Task.yield()
          latch.add(1)
        }
      }
    }
    latch.wait()
  }

  /// Runs Swift tasks in asynchronous operations written by hand.
  @inline(never)
  package static func byHand(count: Int, in queue: OperationQueue) {
    let latch = Latch(count)
    for _ in 0..<count {
      queue.addOperation(
        TaskOperation {
          await Task.yield()
          latch.add(1)
        })
    }
    latch.wait()
  }

  /// The operation that applications write to hold a slot while a Swift task runs.
  private final class TaskOperation: Operation, @unchecked Sendable {
    // Sendable: `phase` is an atomic, `body` never changes.
    private let body: @Sendable () async -> Void
    /// 0: not started, 1: executing, 2: finished.
    private let phase = Atomic(0)

    init(_ body: @escaping @Sendable () async -> Void) { self.body = body }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { phase.load(ordering: .acquiring) == 1 }
    override var isFinished: Bool { phase.load(ordering: .acquiring) == 2 }

    override func start() {
      phase.store(1, ordering: .releasing)
      Task {
        await body()
        willChangeValue(for: \.isFinished)
        phase.store(2, ordering: .releasing)
        didChangeValue(for: \.isFinished)
      }
    }
  }

  /// Waits until the results of all closures add up.
  private final class Latch: Sendable {
    private let left: Atomic<Int>
    private let done = DispatchSemaphore(value: 0)

    init(_ count: Int) { left = Atomic(count) }

    func add(_ number: Int) {
      if left.wrappingSubtract(number, ordering: .acquiringAndReleasing).newValue == 0 {
        done.signal()
      }
    }

    func wait() { done.wait() }
  }
}
