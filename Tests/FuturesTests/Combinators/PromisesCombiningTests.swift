import Foundation
import Futures
import TestSupport
import Testing

@Suite("Several futures", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesCombiningTests {
  private func errors(_ future: AnyFuture) -> [(any Error)?]? {
    guard case .multipleErrors(let errors)? = future.anyError as? ProperationsError else {
      return nil
    }
    return errors
  }

  // MARK: combine

  @Test func `combine succeeds with all values in order, whatever order they come in`() {
    let (a, b, c) = (Promise<Int>(), Promise<String>(), Promise<Bool>())
    let all = Promises.combine(a, b, c)
    c.succeed(with: true)
    a.succeed(with: 1)
    #expect(!all.isFulfilled)
    b.succeed(with: "b")
    guard let (one, two, three) = all.result?.successValue else {
      Issue.record("\(all)")
      return
    }
    #expect(one == 1 && two == "b" && three)
  }

  @Test func `combine of one, of none and of ten`() {
    let one: Future<Int> = Promises.combine(Promises.makeSucceeded(with: 1))
    #expect(one.result?.successValue == 1)
    #expect(Promises.combine().result?.isSuccess == true)
    let f = Promises.makeSucceeded(with: 1)
    let ten = Promises.combine(f, f, f, f, f, f, f, f, f, f)
    #expect(ten.result?.successValue?.9 == 1)
  }

  @Test func `combine fails when all have settled, with one entry per input`() {
    let (a, b, c, d) = (Promise<Int>(), Promise<String>(), Promise<Bool>(), Promise<Int>())
    let all = Promises.combine(a, b, c, d)
    b.fail(with: TestError.first)
    c.cancel()
    a.succeed(with: 1)
    #expect(!all.isFulfilled)
    d.fail(with: TestError.second)
    let errors = errors(all) ?? []
    #expect(errors.count == 4)
    #expect(errors[0] == nil)
    #expect(errors[1] as? TestError == .first)
    #expect(errors[2] as? ProperationsError == .cancelled)
    #expect(errors[3] as? TestError == .second)
    #expect(!all.isCancelled)
  }

  @Test func `cancelling a combination cancels the inputs that nobody else wants`() {
    let (a, b) = (Promise<Int>(), Promise<Int>())
    let other = b.mapToValue(on: .inline) { $0 }
    Promises.combine(a, b).cancel()
    #expect(a.isCancelled)
    #expect(!b.isCancelled)
    #expect(!other.isCancelled)
  }

  // MARK: collect

  @Test func `collect gives the values in the order of the futures`() {
    let promises = (0..<100).map { _ in Promise<Int>() }
    let all = Promises.collect(promises)
    var order = Array(0..<100)
    var generator = SeededGenerator(seed: 1)
    order.shuffle(using: &generator)
    for index in order { promises[index].succeed(with: index) }
    #expect(all.result?.successValue == Array(0..<100))
  }

  @Test func `collect of nothing succeeds with nothing`() {
    #expect(Promises.collect([Future<Int>]()).result?.successValue == [])
    #expect(Promises.collect([Promise<Int>]()).result?.successValue == [])
    #expect(Promises.collectResults([Future<Int>]()).result?.successValue?.isEmpty == true)
  }

  @Test func `collect takes a sequence that can be walked only once`() {
    var left = 3
    let futures = AnySequence {
      AnyIterator { () -> Future<Int>? in
        left -= 1
        return left >= 0 ? Promises.makeSucceeded(with: left) : nil
      }
    }
    #expect(Promises.collect(futures).result?.successValue == [2, 1, 0])
  }

  @Test func `collect with one future several times counts it each time`() {
    let promise = Promise<Int>()
    let all = Promises.collect([promise, promise, promise])
    promise.succeed(with: 1)
    #expect(all.result?.successValue == [1, 1, 1])
    let failed = Promise<Int>()
    let none = Promises.collect([failed, failed])
    failed.fail(with: TestError.first)
    #expect(errors(none)?.count == 2)
  }

  @Test func `collect fails when all have settled`() {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let all = Promises.collect(promises)
    promises[1].fail(with: TestError.first)
    promises[0].succeed(with: 0)
    #expect(!all.isFulfilled)
    promises[2].cancel()
    #expect(errors(all)?.map { $0 == nil } == [true, false, false])
  }

  @Test func `collect failing fast fails with the first failure as it is and cancels the rest`() {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let all = Promises.collect(promises, failingFast: true)
    // Even one that others want.
    let other = promises[2].mapToValue(on: .inline) { $0 }
    promises[0].succeed(with: 0)
    promises[1].fail(with: TestError.first)
    #expect(all.result?.failureValue as? TestError == .first)
    #expect(promises[2].isCancelled)
    #expect(other.isCancelled)
  }

  @Test func `collect failing fast with a settled failure cancels the rest at once`() {
    let pending = Promise<Int>()
    let failed = Promises.makeFailed(with: TestError.first, promising: Int.self)
    let other = Promises.makeFailed(with: TestError.second, promising: Int.self)
    let all = Promises.collect([pending, failed, other], failingFast: true)
    #expect(all.result?.failureValue as? TestError == .first)
    #expect(pending.isCancelled)
  }

  @Test func `collect failing fast with a cancelled input is cancelled`() {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let all = Promises.collect(promises, failingFast: true)
    promises[0].cancel()
    #expect(all.isCancelled)
    #expect(promises[1].isCancelled)
  }

  @Test func `collectResults never fails`() {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let all = Promises.collectResults(promises)
    promises[2].cancel()
    promises[1].fail(with: TestError.first)
    promises[0].succeed(with: 0)
    let results = all.result?.successValue ?? []
    #expect(results.map(\.isSuccess) == [true, false, false])
    #expect(results[2].failureValue as? ProperationsError == .cancelled)
  }

  @Test func `cancelling a collection cancels every input once, duplicates included`() {
    let promise = Promise<Int>()
    let requests = Counter()
    promise.onCancellationRequest { requests.add() }
    let all = Promises.collect([promise, promise])
    all.cancel()
    #expect(promise.isCancelled)
    #expect(requests.value == 1)
  }

  @Test(.timeLimit(.minutes(5)), .oneAtATime)
  func `100,000 futures settled by 4 threads in random order are collected in order`() async {
    var generator = SeededGenerator()
    let promises = (0..<100_000).map { _ in Promise<Int>() }
    let order = Array(0..<100_000).shuffled(using: &generator)
    let all = Promises.collect(promises)
    let ended = await RaceHarness(threads: 4, rounds: 1).run { _ in
    } act: { _, thread in
      for place in stride(from: thread, to: 100_000, by: 4) {
        promises[order[place]].succeed(with: order[place])
      }
    }
    #expect(ended)
    #expect(all.result?.successValue == Array(0..<100_000))
  }

  @Test func `inputs settling on threads while the collection is cancelled always settle it`() async
  {
    let pending = Counter()
    let ended = await RaceHarness(threads: 4, rounds: 500).run { _ in
      let promises = (0..<3).map { _ in Promise<Int>() }
      return (promises, Promises.collect(promises, failingFast: true))
    } act: { (subject: ([Promise<Int>], Future<[Int]>), thread: Int) in
      switch thread {
      case 0: subject.1.cancel()
      case 1: subject.0[0].fail(with: TestError.first)
      default: subject.0[thread - 1].succeed(with: 1)
      }
    } check: { subject, _ in
      if !subject.1.isFulfilled || !subject.0.allSatisfy({ $0.isFulfilled }) { pending.add() }
    }
    #expect(ended)
    #expect(pending.value == 0)
  }
}
