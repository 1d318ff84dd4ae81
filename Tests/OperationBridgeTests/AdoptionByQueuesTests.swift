#if !canImport(Darwin) && !PROPERATIONS_AS_ON_DARWIN
  import Foundation
  import Futures
  import OperationBridge
  import Synchronization
  import TestSupport
  import Testing

  /// Operations that become ready while a queue takes them.
  ///
  /// A queue reads the readiness, makes the operation wait for the barriers, and then has it.
  @Suite(
    "What becomes ready while a queue takes it", .timeLimit(.minutes(2)),
    .oneAtATime)
  struct AdoptionByQueuesTests {
    private struct Round: Sendable {
      let queue = OperationQueue()
      let dependency = Promise<Int>()
      let barrier = Promise<Int>()
      let ran = Log<String>()
      let promise: BlockingPromise<Int>

      init(behindBarrier: Bool) {
        if behindBarrier {
          let (barrier, ran) = (barrier, ran)
          _ = queue.run { try await barrier.value }
          queue.addBarrierBlock { ran.append("barrier") }
        }
        let ran = ran
        promise = BlockingPromise(executionContext: .inline) { promise in
          ran.append("promise")
          promise.succeed(with: 1)
        }
        promise.addDependency(dependency)
      }
    }

    @Test(
      "its last dependency finishes while a queue takes it: it runs, behind the barrier in front")
    func race() async {
      for isStatic in [true, false] {
        for behindBarrier in [false, true] {
          let isComplete = await RaceHarness(threads: 2, rounds: 500).run { _ in
            Round(behindBarrier: behindBarrier)
          } act: { round, thread in
            if thread == 0 {
              round.dependency.succeed(with: 1)
            } else if isStatic {
              round.queue.addOperation(round.promise)
            } else {
              round.queue.addOperation(round.promise as Operation)
            }
          } check: { round, number in
            round.barrier.succeed(with: 1)
            let isEmpty = eventuallyBlocking(within: .seconds(20)) {
              round.queue.operationCount == 0
            }
            #expect(isEmpty, "round \(number)")
            let order = behindBarrier ? ["barrier", "promise"] : ["promise"]
            #expect(round.ran.entries == order, "round \(number)")
          }
          #expect(isComplete)
        }
      }
    }

    private struct Late: Sendable {
      let queue = OperationQueue()
      let dependency = Promise<Int>()
      let gate = Promise<Int>()
      let ran = Log<String>()
      let closure: Future<Void>

      init() {
        let (gate, ran) = (gate, ran)
        _ = queue.run { try await gate.value }
        queue.addBarrierBlock { ran.append("barrier") }
        closure = queue.run(after: dependency) { () async in ran.append("closure") }
      }
    }

    @Test("the dependency of a closure behind a barrier finishes while a second barrier is added")
    func closure() async {
      let isComplete = await RaceHarness(threads: 2, rounds: 300).run { _ in
        Late()
      } act: { late, thread in
        if thread == 0 {
          late.dependency.succeed(with: 1)
        } else {
          _ = late.queue.run(barrier: true) { late.ran.append("second barrier") }
        }
      } check: { late, number in
        late.gate.succeed(with: 1)
        let isEmpty = eventuallyBlocking(within: .seconds(20)) { late.queue.operationCount == 0 }
        #expect(isEmpty, "round \(number)")
        #expect(late.ran.entries.first == "barrier", "round \(number)")
        #expect(late.ran.entries.count == 3, "round \(number)")
      }
      #expect(isComplete)
    }
  }
#endif
