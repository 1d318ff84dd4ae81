import Foundation
import Futures
import TestSupport
import Testing

@Suite("Races", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesRacingTests {
  @Test func `the first success wins, failures before it are passed over, losers are cancelled`() {
    let runners = (0..<4).map { _ in Promise<Int>() }
    let winner = Promises.race(runners)
    runners[0].fail(with: TestError.first)
    runners[1].cancel()
    #expect(!winner.isFulfilled)
    runners[2].succeed(with: 2)
    #expect(winner.result?.successValue == 2)
    #expect(runners[3].isCancelled)
  }

  @Test func `losers go on if they are not to be cancelled`() {
    let runners = (0..<2).map { _ in Promise<Int>() }
    let winner = Promises.race(runners, cancellingLosers: false)
    runners[0].succeed(with: 0)
    #expect(winner.result?.successValue == 0)
    #expect(!runners[1].isCancelled)
    runners[1].succeed(with: 1)
    #expect(winner.result?.successValue == 0)
  }

  @Test func `if all fail, the error has one entry per runner`() {
    let runners = (0..<3).map { _ in Promise<Int>() }
    let winner = Promises.race(runners)
    for (index, runner) in runners.enumerated() { runner.fail(with: TestError.numbered(index)) }
    guard case .multipleErrors(let errors)? = winner.anyError as? ProperationsError else {
      Issue.record("\(winner)")
      return
    }
    #expect(errors.map { $0 as? TestError } == [.numbered(0), .numbered(1), .numbered(2)])
  }

  @Test func `a race without runners fails with noFutures`() {
    #expect(Promises.race([Future<Int>]()).anyError as? ProperationsError == .noFutures)
    #expect(Promises.race([Promise<Int>]()).anyError as? ProperationsError == .noFutures)
    #expect(Promises.firstCompleted([Future<Int>]()).anyError as? ProperationsError == .noFutures)
  }

  @Test func `of settled runners the first success in order wins, and pending ones are cancelled`()
  {
    let pending = Promise<Int>()
    let winner = Promises.race([
      Promises.makeFailed(with: TestError.first), pending, Promises.makeSucceeded(with: 1),
      Promises.makeSucceeded(with: 2),
    ])
    #expect(winner.result?.successValue == 1)
    #expect(pending.isCancelled)
  }

  @Test func `the operator races two and can be chained`() {
    let (a, b, c) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
    let winner: Future<Int> = a || b || c
    c.succeed(with: 3)
    #expect(winner.result?.successValue == 3)
    #expect(a.isCancelled)
    #expect(b.isCancelled)
  }

  @Test func `three alternatives that all fail give three errors side by side`() {
    let fail = { Promises.makeFailed(with: TestError.first, promising: Int.self) }
    let (late, other) = (Promise<Int>(), Promise<Int>())
    let loser = late || fail() || other
    other.fail(with: TestError.second)
    late.fail(with: TestError.first)
    guard case ProperationsError.multipleErrors(let errors)? = loser.result?.failureValue else {
      Issue.record("\(loser)")
      return
    }
    #expect(errors.map { $0 as? TestError } == [.first, .first, .second])
  }

  @Test func `a race of alternatives keeps one place for each of its inputs`() {
    let fail = { Promises.makeFailed(with: TestError.first, promising: Int.self) }
    let loser = Promises.race([fail() || fail(), fail()])
    guard case ProperationsError.multipleErrors(let errors)? = loser.result?.failureValue else {
      Issue.record("\(loser)")
      return
    }
    #expect(errors.count == 2)
    #expect(errors[1] as? TestError == .first)
  }

  @Test func `20,000 alternatives that all fail keep their order and need no stack`() async throws {
    let numbers = try await SmallStackThread.running { () -> [TestError?] in
      let runners = (0..<20_000).map { _ in Promise<Int>() }
      var loser: Future<Int> = runners[0]
      for runner in runners.dropFirst() { loser = loser || runner }
      for (index, runner) in runners.enumerated() { runner.fail(with: TestError.numbered(index)) }
      guard case ProperationsError.multipleErrors(let errors)? = loser.result?.failureValue else {
        return []
      }
      return errors.map { $0 as? TestError }
    }
    #expect(numbers == (0..<20_000).map { .numbered($0) })
  }

  @Test func `one future against itself wins`() {
    let promise = Promise<Int>()
    let winner = promise || promise
    promise.succeed(with: 1)
    #expect(winner.result?.successValue == 1)
  }

  @Test(arguments: Ending.allCases)
  func `firstCompleted takes whatever settles first and cancels the rest`(_ ending: Ending) {
    let runners = (0..<2).map { _ in Promise<Int>() }
    let first = Promises.firstCompleted(runners)
    ending.settle(runners[1])
    #expect(first.isFulfilled)
    #expect(first.result?.successValue == runners[1].result?.successValue)
    #expect(first.isCancelled == (ending == .cancellation))
    #expect(runners[0].isCancelled)
  }

  @Test func `firstCompleted leaves the rest if it is told to`() {
    let runners = (0..<2).map { _ in Promise<Int>() }
    let first = Promises.firstCompleted(runners, cancellingLosers: false)
    runners[0].fail(with: TestError.first)
    #expect(first.anyError as? TestError == .first)
    #expect(!runners[1].isCancelled)
  }

  @Test func `cancelling a race cancels its runners`() {
    let runners = (0..<2).map { _ in Promise<Int>() }
    Promises.race(runners).cancel()
    #expect(runners.allSatisfy { $0.isCancelled })
  }

  @Test func `a loser that somebody else wants is cancelled nevertheless`() {
    let (a, b) = (Promise<Int>(), Promise<Int>())
    let other = b.mapToValue(on: .inline) { $0 }
    let winner = a || b
    a.succeed(with: 1)
    #expect(winner.isFulfilled)
    #expect(b.isCancelled)
    #expect(other.isCancelled)
  }

  @Test func `a shielded loser goes on`() {
    let (a, b) = (Promise<Int>(), Promise<Int>())
    let winner = a || b.shielded()
    a.succeed(with: 1)
    #expect(winner.isFulfilled)
    #expect(!b.isCancelled)
  }

  @Test func `runners that win at the same moment give one winner: 1,000 rounds`() async {
    let wrong = Counter()
    let ended = await RaceHarness(threads: 4, rounds: 1_000).run { _ in
      let runners = (0..<4).map { _ in Promise<Int>() }
      return (runners, Promises.race(runners))
    } act: { (subject: ([Promise<Int>], Future<Int>), thread: Int) in
      subject.0[thread].succeed(with: thread)
    } check: { subject, _ in
      if subject.1.result?.successValue == nil { wrong.add() }
      if !subject.0.allSatisfy({ $0.isFulfilled }) { wrong.add() }
    }
    #expect(ended)
    #expect(wrong.value == 0)
  }
}
