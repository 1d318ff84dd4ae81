import Foundation
import Futures
import TestSupport
import Testing

@Suite("Elements", .timeLimit(.minutes(5)), .oneAtATime)
struct FutureElementsTests {
  /// A sequence that tells how many of its elements were asked for.
  private struct Counted: Sequence, Sendable {
    let count: Int
    let asked: Counter

    func makeIterator() -> AnyIterator<Int> {
      var next = 0
      return AnyIterator {
        self.asked.add()
        defer { next += 1 }
        return next < self.count ? next : nil
      }
    }
  }

  @Test func `mapElementsToValue keeps the order, and fails with the first error thrown`() {
    let f = Promises.makeSucceeded(with: [1, 2, 3])
    #expect(f.mapElementsToValue(on: .inline) { $0 * 2 }.result?.successValue == [2, 4, 6])
    let seen = Log<Int>()
    let failed = f.mapElementsToValue(on: .inline) { value -> Int in
      seen.append(value)
      if value == 2 { throw TestError.first }
      return value
    }
    #expect(failed.anyError as? TestError == .first)
    #expect(seen.entries == [1, 2])
  }

  @Test func `compactMapElementsToValue leaves out nil`() {
    let f = Promises.makeSucceeded(with: [1, 2, 3, 4])
    let even = f.compactMapElementsToValue(on: .inline) { $0.isMultiple(of: 2) ? $0 : nil }
    #expect(even.result?.successValue == [2, 4])
  }

  @Test func `elements of sets, ranges and dictionaries are mapped as well`() {
    let set = Promises.makeSucceeded(with: Set([1])).mapElementsToValue(on: .inline) { $0 }
    #expect(set.result?.successValue == [1])
    let range = Promises.makeSucceeded(with: 0..<3)
      .mapElementsToFuture(on: .inline) { Promises.makeSucceeded(with: $0) }
    #expect(range.result?.successValue == [0, 1, 2])
  }

  @Test func `mapElementsToFuture of nothing succeeds with nothing and runs nothing`() {
    let ran = Counter()
    let f = Promises.makeSucceeded(with: [Int]()).mapElementsToFuture(on: .inline) { _ in
      ran.add()
      return Promises.makeSucceeded(with: 1)
    }
    #expect(f.result?.successValue == [])
    #expect(ran.value == 0)
  }

  @Test func `mapElementsToFuture gives the values in order, whatever order they come in`() {
    let inner = (0..<5).map { _ in Promise<Int>() }
    let f = Promises.makeSucceeded(with: Array(0..<5))
      .mapElementsToFuture(on: .inline) { inner[$0] }
    for index in [3, 1, 4, 0] { inner[index].succeed(with: index * 10) }
    #expect(!f.isFulfilled)
    inner[2].succeed(with: 20)
    #expect(f.result?.successValue == [0, 10, 20, 30, 40])
  }

  @Test func `compactMapElementsToFuture leaves out nil and keeps the order`() {
    let inner = (0..<4).map { _ in Promise<Int?>() }
    let f = Promises.makeSucceeded(with: Array(0..<4))
      .compactMapElementsToFuture(on: .inline) { inner[$0] }
    for index in [3, 2, 1, 0] {
      inner[index].succeed(with: index.isMultiple(of: 2) ? index : nil)
    }
    #expect(f.result?.successValue == [0, 2])
  }

  @Test(arguments: [1, 2, 3, 7, 100])
  func `no more futures are pending than allowed, and elements are taken one by one`(
    _ limit: Int
  ) {
    let asked = Counter()
    let inner = (0..<20).map { _ in Promise<Int>() }
    let started = Log<Int>()
    let f = Promises.makeSucceeded(with: Counted(count: 20, asked: asked))
      .mapElementsToFuture(on: .inline, maxConcurrent: limit) { index in
        started.append(index)
        return inner[index]
      }
    for index in 0..<20 {
      #expect(started.entries == Array(0..<min(20, index + limit)))
      #expect(asked.value <= index + limit + (limit > 20 - index ? 1 : 0))
      inner[index].succeed(with: index)
    }
    #expect(f.result?.successValue == Array(0..<20))
    #expect(asked.value == 21)
  }

  @Test(arguments: [0, -1, Int.min])
  func `a limit below one is one`(_ limit: Int) {
    let inner = (0..<2).map { _ in Promise<Int>() }
    let started = Counter()
    let f = Promises.makeSucceeded(with: [0, 1])
      .mapElementsToFuture(on: .inline, maxConcurrent: limit) { index in
        started.add()
        return inner[index]
      }
    #expect(started.value == 1)
    inner[0].succeed(with: 0)
    inner[1].succeed(with: 1)
    #expect(f.isFulfilled)
  }

  @Test func `after the first failure nothing new is started and what is pending is cancelled`() {
    let asked = Counter()
    let inner = (0..<10).map { _ in Promise<Int>() }
    let started = Counter()
    let f = Promises.makeSucceeded(with: Counted(count: 10, asked: asked))
      .mapElementsToFuture(on: .inline, maxConcurrent: 3) { index in
        started.add()
        return inner[index]
      }
    inner[1].fail(with: TestError.first)
    #expect(f.anyError as? TestError == .first)
    #expect(started.value == 3)
    #expect(asked.value == 3)
    #expect(inner[0].isCancelled)
    #expect(inner[2].isCancelled)
  }

  @Test func `a closure that throws stops everything`() {
    let started = Counter()
    let pending = Promise<Int>()
    let f = Promises.makeSucceeded(with: Array(0..<10))
      .mapElementsToFuture(on: .inline, maxConcurrent: 2) { index -> Future<Int> in
        started.add()
        if index == 1 { throw TestError.first }
        return pending
      }
    #expect(f.anyError as? TestError == .first)
    #expect(started.value == 2)
    #expect(pending.isCancelled)
  }

  @Test func `cancelling the result cancels what is pending and starts nothing more`() {
    let inner = (0..<4).map { _ in Promise<Int>() }
    let started = Counter()
    let f = Promises.makeSucceeded(with: Array(0..<4))
      .mapElementsToFuture(on: .inline, maxConcurrent: 2) { index in
        started.add()
        return inner[index]
      }
    f.cancel()
    #expect(inner[0].isCancelled)
    #expect(inner[1].isCancelled)
    #expect(started.value == 2)
    #expect(!inner[2].isCancelled)
  }

  @Test func `an inner future that is cancelled cancels the whole`() {
    let inner = (0..<2).map { _ in Promise<Int>() }
    let f = Promises.makeSucceeded(with: [0, 1]).mapElementsToFuture(on: .inline) { inner[$0] }
    inner[0].cancel()
    #expect(f.isCancelled)
    #expect(inner[1].isCancelled)
  }

  @Test func `20,000 settled inner futures one at a time need no stack`() async throws {
    let sum = try await SmallStackThread.running {
      Promises.makeSucceeded(with: 0..<20_000)
        .mapElementsToFuture(on: .inline, maxConcurrent: 1) { Promises.makeSucceeded(with: $0) }
        .result?.successValue?.reduce(0, +)
    }
    #expect(sum == 19_999 * 10_000)
  }

  @Test func `on a concurrent queue the bound holds and the order is kept`() async {
    let running = Counter()
    let f = Promises.makeSucceeded(with: Array(0..<200))
      .mapElementsToFuture(on: .global(), maxConcurrent: 4) { index in
        running.add()
        return Promises.delay(for: .microseconds(index % 7 * 50)).mapToValue(on: .inline) {
          running.add(-1)
          return index
        }
      }
    #expect(await f.completion.successValue == Array(0..<200))
    #expect(running.highest <= 4)
  }

  @Test func `a result made of mapElementsToFuture twice keeps the same inner future`() {
    let shared = Promise<Int>()
    let f = Promises.makeSucceeded(with: [1, 2, 3]).mapElementsToFuture(on: .inline) { _ in shared }
    shared.succeed(with: 7)
    #expect(f.result?.successValue == [7, 7, 7])
  }

  @Test func `not failing fast, every element is tried and failures keep their positions`() {
    let inner = (0..<5).map { _ in Promise<Int>() }
    let started = Counter()
    let f = Promises.makeSucceeded(with: Array(0..<6))
      .mapElementsToFuture(on: .inline, maxConcurrent: 2, failingFast: false) { index in
        started.add()
        if index == 5 { throw TestError.second }
        return inner[index]
      }
    inner[0].fail(with: TestError.first)
    inner[1].succeed(with: 1)
    inner[2].cancel()
    inner[3].succeed(with: 3)
    #expect(!f.isFulfilled)
    inner[4].succeed(with: 4)
    #expect(started.value == 6)
    #expect(
      f.anyError as? ProperationsError
        == .multipleErrors([
          TestError.first, nil, ProperationsError.cancelled, nil, nil, TestError.second,
        ]))
    #expect(!f.isCancelled)
  }

  @Test func `not failing fast, elements that all succeed give their values without nil`() {
    let f = Promises.makeSucceeded(with: Array(0..<5))
      .compactMapElementsToFuture(on: .inline, failingFast: false) {
        Promises.makeSucceeded(with: $0.isMultiple(of: 2) ? .some($0) : nil)
      }
    #expect(f.result?.successValue == [0, 2, 4])
  }

  /// A context that counts what it is asked for.
  private final class CountingContext: ExecutionContext {
    let queue = OperationQueue()
    let asked = Counter()

    init() { queue.maxConcurrentOperationCount = 2 }

    func execute(_ operation: Operation) {
      asked.add()
      queue.addOperation { operation.start() }
    }
  }

  @Test func `elements whose closure does the work share places of the context`() async throws {
    let count = 2000
    var least = Int.max
    // (A place goes on for a millisecond at most, however busy the machine is. So a busy
    // machine needs several runs, until it has a quiet moment.)
    let end = ContinuousClock.now + Event.patienceForWork
    while least >= count / 4, ContinuousClock.now < end {
      let context = CountingContext()
      let f = Promises.makeSucceeded(with: Array(0..<count))
        .mapElementsToFuture(on: context, maxConcurrent: 2) {
          Promises.makeSucceeded(with: $0 * 2)
        }
      #expect(try await f.value == (0..<count).map { $0 * 2 })
      least = min(least, context.asked.value)
    }
    #expect(least < count / 4)
  }
}
