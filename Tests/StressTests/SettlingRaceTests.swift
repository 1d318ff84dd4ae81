import Foundation
import Futures
import TestSupport
import Testing

/// Several threads settle, attach and cancel at the same moment.
@Suite(.enabled(if: isStressing), .timeLimit(.minutes(5)), .serialized)
struct SettlingRaceTests {
  /// What a round is about: a promise, who won, and how often the handler ran.
  private final class Round: Sendable {
    let promise = Promise<Int>()
    let wins = Counter()
    let runs = Counter()
  }

  @Test(.guarantee(1))
  func `8 threads settle one promise 100,000 times: one wins, the handler runs once`()
    async
  {
    let mistakes = Counter()
    let ended = await RaceHarness(threads: 8, rounds: times(100_000)).run(within: .seconds(240)) {
      _ in
      let round = Round()
      round.promise.onCompletion(on: .inline) { _ in round.runs.add() }
      return round
    } act: { round, thread in
      switch thread % 3 {
      case 0: if round.promise.succeed(with: thread) { round.wins.add() }
      case 1: if round.promise.fail(with: TestError.first) { round.wins.add() }
      default: round.promise.cancel()
      }
    } check: { round, _ in
      let wins = round.wins.value + (round.promise.isCancelled ? 1 : 0)
      if wins != 1 || round.runs.value != 1 || !round.promise.isFinished { mistakes.add() }
    }
    #expect(ended)
    #expect(mistakes.value == 0)
  }

  @Test func `8 threads race to settle 10,000 promises: each settles once`() async {
    let promises = (0..<10_000).map { _ in Promise<Int>() }
    let wins = Counter()
    let ended = await RaceHarness(threads: 8, rounds: 1).run { _ in
      promises
    } act: { promises, thread in
      for promise in thread % 2 == 0 ? promises : promises.reversed()
      where promise.succeed(with: thread) {
        wins.add()
      }
    }
    #expect(ended)
    #expect(wins.value == 10_000)
  }

  @Test(.guarantee(2))
  func `10 attachers race one completer 1,000 times: each handler runs once, in order`()
    async
  {
    // (Inline there is no order between threads: a handler that comes late runs
    // where it is attached.)
    final class Attached: Sendable {
      let promise = Promise<Int>()
      let queue = DispatchQueue(label: "handlers")
      let log = Log<Int>()
    }
    let mistakes = Counter()
    let ended = await RaceHarness(threads: 11, rounds: times(1_000)).run { _ in
      Attached()
    } act: { round, thread in
      guard thread < 10 else {
        round.promise.succeed(with: 1)
        return
      }
      for index in 0..<5 {
        round.promise.onSuccess(on: round.queue) { _ in round.log.append(thread * 10 + index) }
      }
    } check: { round, _ in
      round.queue.sync {}
      let entries = round.log.entries
      if entries.count != 50 || Set(entries).count != 50 { mistakes.add() }
      for thread in 0..<10 {
        let own = entries.filter { $0 / 10 == thread }
        if own != own.sorted() { mistakes.add() }
      }
    }
    #expect(ended)
    #expect(mistakes.value == 0)
  }

  @Test func `consumers are dropped and cancelled while another thread settles, 100,000 times`()
    async
  {
    final class Consumers: @unchecked Sendable {
      let promise = Promise<Int>()
      // Each is only touched by one of the threads.
      var first: Future<Int>?
      var second: Future<Int>?
    }
    let ended = await RaceHarness(threads: 3, rounds: times(100_000)).run(within: .seconds(240)) {
      _ in
      let round = Consumers()
      round.first = round.promise.mapToFuture(on: .inline) { Promises.makeSucceeded(with: $0) }
      round.second = round.first?.mapToValue(on: .inline) { $0 + 1 }
      return round
    } act: { round, thread in
      switch thread {
      case 0: round.promise.succeed(with: 1)
      case 1: round.first = nil
      default:
        round.second?.cancel()
        round.second = nil
      }
    } check: { round, _ in
      precondition(round.promise.isFulfilled)
    }
    #expect(ended)
  }

  @Test func `mapToFuture steps are released while the inner one settles, 20,000 times`() async {
    final class Steps: @unchecked Sendable {
      let inner = Promise<Int>()
      var middle: Future<Int>?
      let settled = Counter()
    }
    let mistakes = Counter()
    let ended = await RaceHarness(threads: 3, rounds: times(20_000)).run(within: .seconds(240)) {
      _ in
      let round = Steps()
      let inner = round.inner
      let middle = Promises.makeSucceeded(with: 1).mapToFuture(on: .inline) { _ in inner }
      round.middle = middle
      middle.mapToFuture(on: .inline) { Promises.makeSucceeded(with: $0) }
        .onCompletion(on: .inline) { _ in round.settled.add() }
      return round
    } act: { round, thread in
      switch thread {
      case 0: round.inner.succeed(with: 1)
      case 1: round.middle = nil
      default: round.inner.mapToValue(on: .inline) { $0 }.cancel()
      }
    } check: { round, _ in
      if round.settled.value != 1 { mistakes.add() }
    }
    #expect(ended)
    #expect(mistakes.value == 0)
  }

  @Test(.guarantee(9)) func `100 tasks await one future and 50 are cancelled while it settles`()
    async
  {
    for _ in 0..<times(200) {
      let promise = Promise<Int>()
      let tasks = (0..<100).map { _ in Task { await promise.completion } }
      async let settled = Task.detached { promise.succeed(with: 7) }.value
      for task in tasks.prefix(50) { task.cancel() }
      #expect(await settled)
      for task in tasks.suffix(50) { #expect(await task.value.successValue == 7) }
      for task in tasks.prefix(50) {
        let result = await task.value
        #expect(result.successValue == 7 || result.failureValue is CancellationError)
      }
    }
  }
}
