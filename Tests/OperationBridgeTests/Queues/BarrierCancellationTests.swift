import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// A barrier is cancelled like any other closure of a queue.
///
/// Each test runs in a process of its own: a barrier that Foundation loses ends
/// the process.
@Suite("A cancelled barrier", .timeLimit(.minutes(5)), .oneAtATime)
struct BarrierCancellationTests {
  #if os(Linux) || os(macOS)
    @Test("Cancelled with its suspended queue, alone or between closures: cancelled, not broken")
    func suspended() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        for others in [0, 1, 5] {
          let queue = OperationQueue.make(limit: 2, isSuspended: true)
          let before = (0..<others).map { number in queue.run { number } }
          let barrier = queue.run(barrier: true) { -1 }
          let after = (0..<others).map { number in queue.run { number } }
          queue.cancelAllOperations()
          queue.isSuspended = false
          for future in before + [barrier] + after {
            demand(await future.completion.failureValue as? ProperationsError == .cancelled)
          }
          demand(await queue.isEmptyEventually())
        }
      }
    }

    @Test("Cancelled in a queue of a subclass, behind an async closure, 500 times: all finish")
    func inSubclass() async {
      await #expect(processExitsWith: .success) {
        final class Subclass: OperationQueue, @unchecked Sendable {}
        giveUp()
        for _ in 0..<500 {
          let queue = Subclass()
          queue.maxConcurrentOperationCount = 3
          let front = queue.run { () async in await Task.yield() }
          let barrier = queue.run(barrier: true) { 1 }
          queue.cancelAllOperations()
          demand(await eventually { front.isFinished && barrier.isFinished })
        }
      }
    }

    @Test("Cancelled with its queue while a closure before it runs: cancelled, the queue goes on")
    func behindRunning() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        for waiting in [0, 1, 5] {
          let queue = OperationQueue.make(limit: 1)
          let (started, goOn) = (Event(), Event())
          _ = queue.run {
            started.signal()
            goOn.wait()
          }
          demand(await started.opened())
          let others = (0..<waiting).map { number in queue.run { number } }
          let barrier = queue.run(barrier: true) { -1 }
          queue.cancelAllOperations()
          goOn.signal()
          demand(await barrier.completion.failureValue as? ProperationsError == .cancelled)
          for future in others { demand(await future.completion.isFailure) }
          demand(try await queue.run { 7 }.value == 7)
          demand(await queue.isEmptyEventually())
        }
      }
    }

    @Test("Two barriers with closures between them, cancelled with their queue: all cancelled")
    func severalBarriers() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        let queue = OperationQueue.make(limit: 4)
        // All places are taken: no closure runs before the queue is cancelled.
        let goOn = Event()
        for _ in 0..<4 {
          let started = Event()
          _ = queue.run {
            started.signal()
            goOn.wait()
          }
          demand(await started.opened())
        }
        var futures: [Future<Int>] = []
        for _ in 0..<2 {
          futures += (0..<3).map { number in queue.run { number } }
          futures.append(queue.run(barrier: true) { -1 })
        }
        queue.cancelAllOperations()
        goOn.signal()
        for future in futures {
          demand(await future.completion.failureValue as? ProperationsError == .cancelled)
        }
        demand(await queue.isEmptyEventually())
      }
    }

    @Test("Cancelled with its queue behind a pending promise of the queue: both settle")
    func behindPending() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        for count in [1, 40] {
          let queue = OperationQueue.make(limit: 2)
          let promises = (0..<count).map { _ in Promises.make(promising: Int.self, in: queue) }
          let barrier = queue.run(barrier: true) { -1 }
          queue.cancelAllOperations()
          demand(promises.allSatisfy { $0.isCancelled })
          // (The barrier may begin before Foundation's `cancelAllOperations()`, which goes
          // from operation to operation, has come to it.)
          let result = await barrier.completion
          demand(
            result.successValue == -1 || result.failureValue as? ProperationsError == .cancelled)
          demand(try await queue.run { 7 }.value == 7)
          demand(await queue.isEmptyEventually())
        }
      }
    }

    @Test(
      "Cancelled with its queue by another thread at any moment, 2,000 rounds: no crash, no loss")
    func anyMoment() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        for round in 0..<2_000 {
          let queue = OperationQueue.make(limit: 1 + round % 3)
          let done = Event()
          Thread.detachNewThread {
            for _ in 0..<(round % 7) { sched_yield() }
            queue.cancelAllOperations()
            done.signal()
          }
          let futures = (0..<6).map { number in
            queue.run(barrier: number % 3 == 1) { number }
          }
          demand(await done.opened())
          for (number, future) in futures.enumerated() {
            switch await future.completion {
            case .success(let value): demand(value == number)
            case .failure(let error): demand(error as? ProperationsError == .cancelled)
            }
          }
          demand(await queue.isEmptyEventually())
        }
      }
    }

    @Test("Barriers and plain operations of two threads that cancel everything: no crash, no loss")
    func plainBeside() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        for round in 0..<1_500 {
          let queue = OperationQueue.make(limit: 1 + round % 3)
          DispatchQueue.concurrentPerform(iterations: 2) { thread in
            var generator = SeededGenerator(seed: UInt64(round * 2 + thread))
            for _ in 0..<20 {
              switch Int.random(in: 0..<8, using: &generator) {
              case 0: _ = queue.run(barrier: true) { () async in await Task.yield() }
              case 1: queue.cancelAllOperations()
              case 2, 3: queue.addOperation {}
              default: _ = queue.run { () async in await Task.yield() }
              }
            }
          }
          if round % 3 == 0 { demand(await queue.isEmptyEventually()) }
        }
      }
    }

    @Test("A barrier's future cancelled by itself behind a running closure: the others keep order")
    func byItself() async {
      await #expect(processExitsWith: .success) {
        giveUp()
        let queue = OperationQueue.make(limit: 2)
        let (started, goOn, log) = (Event(), Event(), Log<String>())
        _ = queue.run {
          started.signal()
          goOn.wait()
        }
        demand(await started.opened())
        let first = queue.run(barrier: true) { log.append("first") }
        let second = queue.run(barrier: true) { log.append("second") }
        let last = queue.run { log.append("last") }
        first.cancel()
        demand(first.isCancelled)
        goOn.signal()
        demand(await second.completion.isSuccess)
        demand(await last.completion.isSuccess)
        demand(log.entries == ["second", "last"])
      }
    }
  #endif
}
