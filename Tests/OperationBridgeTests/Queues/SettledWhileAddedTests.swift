import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

// On Apple's platforms nothing tells that a queue has dropped an operation.
#if !canImport(Darwin) && !PROPERATIONS_AS_ON_DARWIN

  /// `addOperation(_:)` of a queue of a subclass may take long, or drop the operation.
  @Suite("A future that settles while a queue takes it", .timeLimit(.minutes(5)), .oneAtATime)
  struct SettledWhileAddedTests {
    /// Does something before it takes an operation.
    private class Subclass: OperationQueue, @unchecked Sendable {
      // Sendable: nothing changes after init.
      private let body: @Sendable () -> Void

      init(_ body: @escaping @Sendable () -> Void) { self.body = body }

      override func addOperation(_ operation: Operation) {
        body()
        take(operation)
      }

      func take(_ operation: Operation) { super.addOperation(operation) }
    }

    private final class DroppingQueue: Subclass, @unchecked Sendable {
      override func take(_ operation: Operation) {}
    }

    /// Returns when a future would have finished that has settled and is in no queue.
    private static func waitForUnstartedFutures() {
      for _ in 0..<3 {
        let other = Promise<Int>()
        DroppingQueue {}.addOperation(other)
        other.succeed(with: 1)
        demand(eventuallyBlocking { other.isFinished })
      }
    }

    // Foundation stops the process when a queue gets an operation that has finished.
    @Test("Long before the queue has it: it finishes when the queue has started it")
    func slowQueue() async {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          let promise = Promise<Int>()
          let queue = Subclass {
            promise.succeed(with: 1)
            SettledWhileAddedTests.waitForUnstartedFutures()
            demand(!promise.isFinished)
          }
          queue.addOperation(promise)
          return eventuallyBlocking { promise.isFinished && queue.operationCount == 0 }
        }
      }
    }

    @Test("The queue drops it: it finishes all the same", arguments: [false, true])
    func droppingQueue(isSettledMeanwhile: Bool) async {
      let promise = Promise<Int>()
      let queue = DroppingQueue { if isSettledMeanwhile { promise.succeed(with: 1) } }
      queue.addOperation(promise)
      promise.succeed(with: 1)
      #expect(await eventually { promise.isFinished })
    }
  }

#endif
