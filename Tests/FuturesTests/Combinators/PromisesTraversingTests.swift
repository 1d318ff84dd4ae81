import Foundation
import Futures
import TestSupport
import Testing

@Suite("Promises.traverse and find", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesTraversingTests {
  @Test func `traverse gives the values in order, and takes elements as places become free`() {
    let taken = Counter()
    let promises = (0..<5).map { _ in Promise<Int>() }
    let elements = (0..<5).lazy.map { index in
      taken.add()
      return index
    }
    let future = Promises.traverse(elements, on: .inline, maxConcurrent: 2) { promises[$0] }
    #expect(taken.value == 2)
    promises[1].succeed(with: 10)
    #expect(taken.value == 3)
    for index in [0, 2, 3, 4] { promises[index].succeed(with: index * 10) }
    #expect(future.result?.successValue == [0, 10, 20, 30, 40])
    let nothing = Promises.traverse([Int](), on: .inline) { Promises.makeSucceeded(with: $0) }
    #expect(nothing.result?.successValue == [])
  }

  /// A context whose closures have run before they are awaited, as on an idle machine.
  private struct Immediately: ExecutionContext {
    func execute(_ operation: Operation) { operation.start() }
  }

  @Test func `futures that settle at once do not hold the caller of traverse up to the end`()
    async throws
  {
    let caller = pthread_self()
    let (here, elsewhere) = (Counter(), Counter())
    let elements = (0..<10_000).lazy.map { number in
      if pthread_self() == caller { here.add() } else { elsewhere.add() }
      return number
    }
    let future = Promises.traverse(elements, on: Immediately(), maxConcurrent: 4) {
      Promises.makeSucceeded(with: $0)
    }
    #expect(here.value <= 260)
    #expect(try await future.value == Array(0..<10_000))
    #expect(here.value + elsewhere.value == 10_000)
  }

  @Test @MainActor func `without a context both closures run on the main actor`() async throws {
    var seen: [Int] = []
    let doubled = Promises.traverse([1, 2, 3]) { number in
      seen.append(number)
      return Promises.makeSucceeded(with: number * 2)
    }
    #expect(try await doubled.value == [2, 4, 6])
    let found = Promises.find(in: [1, 2, 3]) { number in
      seen.append(number)
      return Promises.makeSucceeded(with: number == 2)
    }
    #expect(try await found.value == 2)
    #expect(seen == [1, 2, 3, 1, 2])
  }

  @Test func `after the first failure traverse starts nothing and cancels what is pending`() {
    let promises = (0..<9).map { _ in Promise<Int>() }
    let started = Counter()
    let future = Promises.traverse(0..., on: .inline, maxConcurrent: 3) { index in
      started.add()
      return promises[index]
    }
    promises[1].fail(with: TestError.first)
    #expect(future.error as? TestError == .first)
    #expect(started.value == 3)
    #expect(promises[0].isCancelled && promises[2].isCancelled)
    let thrown = Promises.traverse([1], on: .inline) { _ -> Future<Int> in throw TestError.second }
    #expect(thrown.error as? TestError == .second)
  }

  @Test func `traverse that tries all names the failures by position`() {
    let future = Promises.traverse(0..<3, on: .inline, failingFast: false) { index in
      index == 1
        ? Promises.makeFailed(with: TestError.first) : Promises.makeSucceeded(with: index)
    }
    #expect(future.error as? ProperationsError == .multipleErrors([nil, TestError.first, nil]))
  }

  @Test(arguments: [0, -1, Int.min])
  func `a limit below one is one`(_ limit: Int) {
    let started = Counter()
    let future = Promises.traverse(0..<3, on: .inline, maxConcurrent: limit) { _ in
      started.add()
      return Promise<Int>()
    }
    // The promise is dropped at once, which fails the whole traversal.
    #expect(started.value == 1)
    #expect(future.isFulfilled)
  }

  @Test func `cancelling traverse cancels what is pending`() {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let future = Promises.traverse(0..., on: .inline, maxConcurrent: 2) { promises[$0] }
    future.cancel()
    #expect(promises.allSatisfy { $0.isCancelled })
  }

  @Test func `find asks one element after the other, and none after the first that fits`() {
    let answers = (0..<4).map { _ in Promise<Bool>() }
    let asked = Log<Int>()
    let future = Promises.find(in: 0..., on: .inline) { index in
      asked.append(index)
      return answers[index]
    }
    answers[2].succeed(with: true)
    #expect(asked.entries == [0])
    answers[0].succeed(with: false)
    answers[1].succeed(with: false)
    #expect(future.result?.successValue == .some(2))
    #expect(asked.entries == [0, 1, 2])
  }

  @Test func `find of nothing, or without a fit, gives nil`() {
    let empty = Promises.find(in: [Int](), on: .inline) { _ in Promises.makeSucceeded(with: true) }
    #expect(empty.result?.successValue == .some(nil))
    let none = Promises.find(in: [1, 2], on: .inline) { _ in Promises.makeSucceeded(with: false) }
    #expect(none.result?.successValue == .some(nil))
  }

  @Test func `a question that fails, throws or is cancelled ends the search`() {
    let failed = Promises.find(in: [1, 2], on: .inline) { _ in
      Promises.makeFailed(with: TestError.first)
    }
    #expect(failed.error as? TestError == .first)
    let thrown = Promises.find(in: [1, 2], on: .inline) { _ in throw TestError.second }
    #expect(thrown.error as? TestError == .second)
    let pending = Promise<Bool>()
    let cancelled = Promises.find(in: [1, 2], on: .inline) { _ in pending }
    cancelled.cancel()
    #expect(pending.isCancelled)
  }

  @Test func `100,000 elements are searched on a small stack`() async throws {
    let found = try await SmallStackThread.running(within: .seconds(240)) {
      Promises.find(in: 0..., on: .inline) { Promises.makeSucceeded(with: $0 == 99_999) }
        .result?.successValue
    }
    #expect(found == .some(99_999))
  }

  @Test func `20,000 elements are traversed on a small stack`() async throws {
    let count = try await SmallStackThread.running(within: .seconds(240)) {
      let one = Promises.makeSucceeded(with: 1)
      return Promises.traverse(0..<20_000, on: .inline, maxConcurrent: 3) { _ in one }
        .result?.successValue?.count
    }
    #expect(count == 20_000)
  }
}
