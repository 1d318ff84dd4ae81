import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// No operation of ours is ever lost in a queue.
@Suite(.enabled(if: isStressing), .timeLimit(.minutes(5)), .serialized)
struct QueueStressTests {
  @Test(.guarantee(10))
  func `a promise is settled while it is put in a queue, 300,000 times: none is stuck`()
    async
  {
    final class Round: Sendable {
      let promise = Promise<Int>()
      let dependent = BlockOperation()
    }
    let queue = OperationQueue()
    let stuck = Counter()
    let ended = await RaceHarness(threads: 2, rounds: times(300_000)).run(within: .seconds(280)) {
      _ in
      let round = Round()
      round.dependent.addDependency(round.promise)
      return round
    } act: { round, thread in
      if thread == 0 {
        round.promise.succeed(with: 1)
      } else {
        queue.addOperation(round.dependent)
      }
    }
    #expect(ended)
    #expect(await finishes(queue))
    #expect(stuck.value == 0)
  }

  @Test func `closures hop between queues while they are suspended and resumed`() async {
    var generator = SeededGenerator()
    let queues = (0..<4).map { index in
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = index + 1
      return queue
    }
    let promises = (0..<200).map { _ in Promise<Int>() }
    let ends = promises.map { promise -> Future<Int> in
      var end: Future<Int> = promise
      for _ in 0..<50 {
        end = end.mapToValue(on: queues.randomElement(using: &generator) ?? queues[0]) { $0 + 1 }
      }
      return end
    }
    let ended = await RaceHarness(threads: 3, rounds: 200).run { round in
      round
    } act: { round, thread in
      switch thread {
      case 0: promises[round].succeed(with: 0)
      case 1: queues[round % 4].isSuspended = true
      default: queues[(round + 2) % 4].isSuspended = false
      }
    }
    #expect(ended)
    for queue in queues { queue.isSuspended = false }
    for end in ends { #expect(await end.completion.successValue == 50) }
  }

  @Test func `links are cancelled while their queue runs them, 50,000 times: all settle`() async {
    final class Round: Sendable {
      let promise = Promise<Int>()
      let ends: [Future<Int>]
      init(_ queue: OperationQueue) {
        let first = promise.mapToValue(on: queue) { $0 + 1 }
        ends = [
          first, first.mapToValue(on: queue) { $0 + 1 }, promise.mapToValue(on: queue) { $0 },
        ]
      }
    }
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let rounds = Log<Round>()
    let ended = await RaceHarness(threads: 3, rounds: times(50_000)).run(within: .seconds(240)) {
      _ in
      Round(queue)
    } act: { round, thread in
      switch thread {
      case 0: round.promise.succeed(with: 1)
      case 1: round.ends[0].cancel()
      default: round.ends[1].cancel()
      }
    } check: { round, index in
      if index % 10 == 0 { rounds.append(round) }
    }
    #expect(ended)
    #expect(await finishes(queue))
    for round in rounds.entries {
      for end in round.ends { #expect(end.isFulfilled && end.isFinished) }
    }
  }

  @Test func `blocking promises are cancelled, settled and started at once: the queue goes on`()
    async
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let ended = await RaceHarness(threads: 3, rounds: times(5_000)).run(within: .seconds(240)) {
      _ in
      Promises.makeBlocking(in: queue, promising: Int.self, on: .inline) { promise in
        DispatchQueue.global().async { promise.succeed(with: 1) }
      }
    } act: { promise, thread in
      switch thread {
      case 0: promise.cancel()
      case 1: promise.succeed(with: 2)
      default: _ = promise.isReady
      }
    }
    #expect(ended)
    #expect(await finishes(queue))
  }

  private func finishes(_ queue: OperationQueue) async -> Bool {
    let done = Event()
    Thread.detachNewThread {
      queue.waitUntilAllOperationsAreFinished()
      done.signal()
    }
    return await done.opened()
  }
}
