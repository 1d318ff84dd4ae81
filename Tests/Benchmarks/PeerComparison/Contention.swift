import Foundation
import NIOCore
import Properations
import Workloads

/// Ten thousand promises that one thread settles while another thread attaches handlers.
///
/// The same: two threads, the same promises in the same order, all handlers run. Not the
/// same: NIO's handlers always run on the loop, so both threads hand them over; ours run
/// on the thread that settles or attaches.
func contention() {
  let count = 10_000
  let name = "Producer against consumer, \(text(count)) promises"
  measure(name, .ours, setUp: { Pending.promises(count) }) { promises in
    let calls = DispatchGroup()
    meet(
      { for promise in promises { promise.succeed(with: 1) } },
      {
        for promise in promises {
          calls.enter()
          promise.onSuccess(on: .inline) { _ in calls.leave() }
        }
      })
    calls.wait()
  }
  measure(
    name, .nio, setUp: { (0..<count).map { _ in Loops.first.makePromise(of: Int.self) } }
  ) { promises in
    let calls = DispatchGroup()
    meet(
      { for promise in promises { promise.succeed(1) } },
      {
        for promise in promises {
          calls.enter()
          promise.futureResult.whenSuccess { _ in calls.leave() }
        }
      })
    calls.wait()
  }
}

/// Runs two closures on two threads.
private func meet(
  _ first: @escaping @Sendable () -> Void, _ second: @escaping @Sendable () -> Void
) {
  let other = DispatchSemaphore(value: 0)
  Thread.detachNewThread {
    first()
    other.signal()
  }
  second()
  other.wait()
}
