import Foundation
import NIOCore
import Properations
import Workloads

/// A hot chain of a thousand beside n futures that wait for something else; see
/// `BesidePending`.
func idlePending() {
  for waiting in [100, 1000, 100_000, 1_000_000] {
    let name = "1_000 through a queue beside \(text(waiting)) pending"
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    measure(name, .ours, setUp: { BesidePending.ours(waiting, on: queue) }) { pending in
      withExtendedLifetime(pending) { BesidePending.runOurs(1000, on: queue) }
    }
    measure(
      name, .nio,
      setUp: { try Loops.first.submit { BesidePending.nio(waiting, on: Loops.first) }.wait() },
      tearDown: { promises in
        try Loops.run { for promise in promises { promise.succeed(0) } }
      }
    ) { _ in BesidePending.runNIO(1000, on: Loops.first) }
    // Adding the operations takes quadratic time: more would take minutes.
    guard waiting <= 1000 else { continue }
    measure(
      name, .operation,
      setUp: {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        return (queue, BesidePending.operations(waiting, in: queue))
      },
      tearDown: { BesidePending.release($0.1, in: $0.0) }
    ) { BesidePending.runOperations(1000, in: $0.0) }
  }
}
