#if !canImport(Darwin) && !PROPERATIONS_AS_ON_DARWIN

  import Foundation
  import Futures
  import OperationBridge
  import TestSupport
  import Testing

  /// Operations that become ready while a queue takes them.
  ///
  /// A queue reads the readiness, makes the operation wait for the barriers, and then has it.
  @Suite("What becomes ready while a queue takes it", .timeLimit(.minutes(5)), .oneAtATime)
  struct AdoptionByQueuesTests {
    /// What makes an operation ready.
    enum Change: CaseIterable { case dependencyFinishes, promiseSucceeds, promiseIsCancelled }

    /// How a queue gets the promise.
    enum Door: CaseIterable { case asFuture, asOperation }

    /// A promise that tells when a queue begins to take it.
    private final class Announced: Promise<Int>, @unchecked Sendable {
      // Sendable: nothing changes after init.
      let isRead = Event()

      override var isReady: Bool {
        defer { isRead.signal() }
        return super.isReady
      }
    }

    private struct Round: Sendable {
      let queue = OperationQueue()
      let dependency = Promise<Int>()
      let gate = Promise<Int>()
      let log = Log<String>()
      let promise: Promise<Int>

      init(_ change: Change, behindBarrier: Bool) {
        let (gate, log) = (gate, log)
        if behindBarrier {
          _ = queue.run { try await gate.value }
          queue.addBarrierBlock { log.append("barrier") }
        }
        if change == .dependencyFinishes {
          promise = BlockingPromise(on: .inline) { promise in
            promise.succeed(with: 1)
          }
          promise.addDependency(dependency)
        } else {
          promise = Announced()
        }
        promise.completionBlock = { log.append("promise") }
      }

      func act(_ change: Change) {
        // Foundation refuses an operation that has finished before.
        if let promise = promise as? Announced { promise.isRead.wait() }
        switch change {
        case .dependencyFinishes: dependency.succeed(with: 1)
        case .promiseSucceeds: promise.succeed(with: 1)
        case .promiseIsCancelled: promise.cancel()
        }
      }

      func add(by door: Door) {
        switch door {
        case .asFuture: queue.addOperation(promise)
        case .asOperation: queue.addOperation(promise as Operation)
        }
      }
    }

    @Test(
      "a promise that becomes ready while a queue takes it finishes, behind the barrier in front",
      arguments: Change.allCases, Door.allCases)
    func promise(_ change: Change, _ door: Door) async {
      for behindBarrier in [false, true] {
        let isComplete = await RaceHarness(threads: 2, rounds: 200).run { _ in
          Round(change, behindBarrier: behindBarrier)
        } act: { round, thread in
          if thread == 0 { round.act(change) } else { round.add(by: door) }
        } check: { round, number in
          round.gate.succeed(with: 1)
          let order = behindBarrier ? ["barrier", "promise"] : ["promise"]
          let isDone = eventuallyBlocking {
            round.queue.operationCount == 0 && round.log.entries.count == order.count
          }
          #expect(isDone, "round \(number)")
          #expect(round.log.entries == order, "round \(number)")
        }
        #expect(isComplete)
      }
    }

    private struct Behind: Sendable {
      let queue = OperationQueue()
      let dependency = Promise<Int>()
      let gate = Promise<Int>()
      let log = Log<String>()

      init() {
        let (gate, log) = (gate, log)
        _ = queue.run { try await gate.value }
        queue.addBarrierBlock { log.append("barrier") }
      }
    }

    @Test("the dependency of a closure behind a barrier finishes while a second barrier is added")
    func secondBarrier() async {
      let isComplete = await RaceHarness(threads: 2, rounds: 200).run { _ in
        let behind = Behind()
        _ = behind.queue.run(after: behind.dependency) { () async in behind.log.append("closure") }
        return behind
      } act: { behind, thread in
        if thread == 0 {
          behind.dependency.succeed(with: 1)
        } else {
          _ = behind.queue.run(barrier: true) { behind.log.append("second barrier") }
        }
      } check: { behind, number in
        behind.gate.succeed(with: 1)
        // (A queue does not count its barriers among its operations.)
        let isDone = eventuallyBlocking {
          behind.queue.operationCount == 0 && behind.log.count == 3
        }
        #expect(isDone, "round \(number)")
        #expect(behind.log.entries.first == "barrier", "round \(number)")
        #expect(behind.log.count == 3, "round \(number)")
      }
      #expect(isComplete)
    }

    @Test("a promise behind a barrier becomes ready while the barrier ends: it runs")
    func endOfBarrier() async {
      let isComplete = await RaceHarness(threads: 2, rounds: 500).run { _ in
        let behind = Behind()
        let promise = BlockingPromise<Int>(on: .inline) { promise in
          behind.log.append("promise")
          promise.succeed(with: 1)
        }
        promise.addDependency(behind.dependency)
        behind.queue.addOperation(promise)
        return behind
      } act: { behind, thread in
        if thread == 0 { behind.dependency.succeed(with: 1) } else { behind.gate.succeed(with: 1) }
      } check: { behind, number in
        #expect(eventuallyBlocking { behind.queue.operationCount == 0 }, "round \(number)")
        #expect(behind.log.entries == ["barrier", "promise"], "round \(number)")
      }
      #expect(isComplete)
    }
  }

#endif
