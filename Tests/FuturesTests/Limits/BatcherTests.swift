import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("Batcher", .timeLimit(.minutes(5)), .oneAtATime)
struct BatcherTests {
  private let clock = ManualClock()
  private let batches = Log<[Int]>()

  /// A batcher that returns each element as text, at once.
  private func batcher(maxSize: Int, maxDelay: Duration = .seconds(1)) -> Batcher<Int, String> {
    Batcher(maxSize: maxSize, maxDelay: maxDelay, clock: clock, on: .inline) { [batches] batch in
      batches.append(batch)
      return Promises.makeSucceeded(with: batch.map { "\($0)" })
    }
  }

  @Test func `a full batch starts at once, and each element gets its value`() async {
    let batcher = batcher(maxSize: 3)
    let futures = (0..<7).map { batcher.add($0) }
    #expect(batches.entries == [[0, 1, 2], [3, 4, 5]])
    #expect(futures.prefix(6).map { $0.result?.successValue } == (0..<6).map { "\($0)" })
    #expect(batcher.gatheredCount == 1 && !futures[6].isFulfilled)
    batcher.flush()
    batcher.flush()
    #expect(batches.entries == [[0, 1, 2], [3, 4, 5], [6]])
    #expect(futures[6].isFulfilled)
    #expect(await eventually { clock.sleeping == 0 })
  }

  @Test func `a batch starts when its first element has waited long enough`() async {
    let batcher = batcher(maxSize: 9)
    let first = batcher.add(1)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .milliseconds(600))
    let second = batcher.add(2)
    clock.advance(by: .milliseconds(399))
    #expect(batches.count == 0)
    clock.advance(by: .milliseconds(1))
    #expect(await eventually { first.isFulfilled && second.isFulfilled })
    #expect(batches.entries == [[1, 2]])
    _ = batcher.add(3)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(1))
    #expect(await eventually { batches.count == 2 })
  }

  @Test func `the future of flush waits for all batches that are closed, whatever their ends`()
    async
  {
    let works = Log<Promise<[Int]>>()
    let batcher = Batcher<Int, Int>(maxSize: 2, maxDelay: .seconds(1), clock: clock, on: .inline) {
      _ in
      let work = Promise<[Int]>()
      works.append(work)
      return work
    }
    #expect(batcher.flush().isFulfilled)
    let futures = (1...5).map { batcher.add($0) }
    let flushed = batcher.flush()
    let later = (6...7).map { batcher.add($0) }
    #expect(works.count == 4)
    works.entries[2].succeed(with: [5])
    works.entries[0].fail(with: TestError.first)
    #expect(!flushed.isFulfilled)
    works.entries[1].succeed(with: [3, 4])
    #expect(flushed.isFulfilled && flushed.result?.isSuccess == true)
    #expect(futures.allSatisfy(\.isFulfilled) && !later[0].isFulfilled)
    works.entries[3].succeed(with: [6, 7])
    #expect(batcher.flush().isFulfilled)
  }

  @Test func `the future of flush is cancelled: the batches continue`() {
    let work = Promise<[Int]>()
    let batcher = Batcher<Int, Int>(maxSize: 2, maxDelay: .seconds(1), clock: clock, on: .inline) {
      _ in work
    }
    let future = batcher.add(1)
    let (first, second) = (batcher.flush(), batcher.flush())
    first.cancel()
    #expect(!work.isCancelled && !second.isFulfilled)
    future.cancel()
    #expect(work.isCancelled && second.result?.isSuccess == true)
  }

  @Test func `the work of a batch waits for its own flush: the batch fails, and names the cycle`()
    async
  {
    let flush = Log<@Sendable () -> Future<Void>>()
    let batcher = Batcher<Int, Int>(maxSize: 2, maxDelay: .seconds(1), clock: clock, on: .inline) {
      [flush] batch in
      flush.entries[0]().mapToValue(on: .inline) { batch }
    }
    flush.append { [weak batcher] in batcher?.flush() ?? Promises.makeSucceeded() }
    let futures = [batcher.add(1), batcher.add(2)]
    for future in futures {
      #expect(future.result?.failureValue.map { "\($0)".contains("cycle") } == true)
    }
    #expect(batcher.flush().isFulfilled)
  }

  @Test(arguments: [1, 0, -1, Int.min])
  func `a size below two, and a time that is no time, make batches of one`(_ size: Int) {
    let small = batcher(maxSize: size)
    let quick = batcher(maxSize: 9, maxDelay: .seconds(size - size))
    let negative = batcher(maxSize: .max, maxDelay: .seconds(Int64.min))
    for batcher in [small, quick, negative] {
      #expect(batcher.add(1).isFulfilled && batcher.add(2).isFulfilled)
    }
    #expect(batches.entries == [[1], [2], [1], [2], [1], [2]])
  }

  @Test func `a time that never comes is ended by flush`() async {
    let batcher = batcher(maxSize: .max, maxDelay: .seconds(Int64.max))
    let future = batcher.add(1)
    #expect(await eventually { clock.sleeping == 1 })
    batcher.flush()
    #expect(future.isFulfilled)
    #expect(await eventually { clock.sleeping == 0 })
  }

  @Test func `a clock that throws closes the batch at once`() async {
    for error in [TestError.first, CancellationError()] as [any Error] {
      let clock = UserClock()
      let batcher = Batcher<Int, Int>(
        maxSize: 9, maxDelay: .seconds(1), clock: clock, on: .inline
      ) { Promises.makeSucceeded(with: $0) }
      let futures = [batcher.add(1), batcher.add(2)]
      #expect(await eventually { clock.sleeping.value == 1 })
      #expect(batcher.gatheredCount == 2)
      clock.end.fail(with: error)
      #expect(await futures[0].completion.successValue == 1)
      #expect(await futures[1].completion.successValue == 2)
    }
  }

  @Test func `the time of a batch that all have left does not end the next batch`() async {
    let batcher = batcher(maxSize: 9)
    let first = batcher.add(1)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .milliseconds(999))
    first.cancel()
    let second = batcher.add(2)
    #expect(await eventually { clock.sleeps.count == 2 && clock.sleeping == 1 })
    clock.advance(by: .milliseconds(999))
    #expect(!second.isFulfilled && batches.count == 0)
    clock.advance(by: .milliseconds(1))
    #expect(await second.completion.successValue == "2")
  }

  @Test func `the longest time that there is waits for a flush`() {
    let batcher = Batcher<Int, Int>(
      maxSize: .max, maxDelay: Duration(attoseconds: .max), on: .inline
    ) { Promises.makeSucceeded(with: $0) }
    let future = batcher.add(1)
    #expect(!future.isFulfilled)
    batcher.flush()
    #expect(future.result?.successValue == 1)
  }

  @Test func `a batch that fails or throws fails its elements only`() {
    let results = Log<Int>()
    let batcher = Batcher<Int, Int>(maxSize: 2, maxDelay: .seconds(1), clock: clock, on: .inline) {
      results.append($0[0])
      switch $0[0] {
      case 0: return Promises.makeFailed(with: TestError.first)
      case 1: throw TestError.second
      default: return Promises.makeSucceeded(with: $0)
      }
    }
    let futures = (0..<3).map { index in [batcher.add(index), batcher.add(9)] }
    #expect(futures[0].allSatisfy { $0.error as? TestError == .first })
    #expect(futures[1].allSatisfy { $0.error as? TestError == .second })
    #expect(futures[2].map { $0.result?.successValue } == [2, 9])
  }

  @Test(arguments: [0, 1, 3])
  func `another number of values than elements fails the batch`(_ count: Int) {
    let batcher = Batcher<Int, Int>(maxSize: 2, maxDelay: .seconds(1), clock: clock, on: .inline) {
      _ in Promises.makeSucceeded(with: Array(0..<count))
    }
    let futures = [batcher.add(1), batcher.add(2)]
    let error = BatchCountMismatch(expected: 2, received: count)
    #expect(futures.allSatisfy { $0.error as? BatchCountMismatch == error })
    #expect(error.localizedDescription.contains("2"))
  }

  @Test func `an element that is cancelled before its batch starts is not in it`() async {
    let batcher = batcher(maxSize: 2)
    batcher.add(1).cancel()
    #expect(batcher.gatheredCount == 0)
    #expect(await eventually { clock.sleeping == 0 })
    let futures = [batcher.add(2), batcher.add(3)]
    #expect(batches.entries == [[2, 3]])
    #expect(futures.allSatisfy { $0.isFulfilled })
  }

  @Test func `a batch under way is cancelled when all its elements have been`() {
    let work = Promise<[Int]>()
    let batcher = Batcher<Int, Int>(maxSize: 3, maxDelay: .seconds(1), clock: clock, on: .inline) {
      _ in work
    }
    let futures = (0..<3).map { batcher.add($0) }
    futures[0].cancel()
    futures[1].mapToVoid().cancel()
    #expect(futures[1].isCancelled && !work.isFulfilled)
    futures[2].cancel()
    #expect(work.isCancelled)
  }

  @Test func `a promise that is dropped breaks the batch, and so does a context`() {
    func batcher(on context: some ExecutionContext) -> Batcher<Int, Int> {
      Batcher(maxSize: 1, maxDelay: .seconds(1), on: context) { _ in Promise() }
    }
    let context = ManualContext()
    let (broken, dropped) = (batcher(on: .inline), batcher(on: context))
    let futures = [broken.add(1), dropped.add(1)]
    context.dropAll()
    for future in futures {
      guard case .brokenPromise? = future.error as? ProperationsError else {
        Issue.record("\(future)")
        return
      }
    }
  }

  @Test @MainActor func `without a context the closure runs on the main actor`() async throws {
    var sizes: [Int] = []
    let batcher = Batcher<Int, Int>(maxSize: 2, maxDelay: .milliseconds(1)) { batch in
      MainActor.preconditionIsolated()
      sizes.append(batch.count)
      return Promises.makeSucceeded(with: batch)
    }
    let futures = (0..<3).map { batcher.add($0) }
    #expect(try await Promises.collect(futures).value == [0, 1, 2])
    #expect(sizes.reduce(0, +) == 3)
  }

  @Test func `handlers add elements, and the closure waits for one of its own: a cycle`() {
    let batcher = batcher(maxSize: 1)
    let second = batcher.add(1).mapToFuture(on: .inline) { _ in batcher.add(2) }
    #expect(second.result?.successValue == "2")
    let own = Box<Batcher<Int, Int>?>(nil)
    let mine = Box<Future<Int>?>(nil)
    let cyclic = Batcher<Int, Int>(maxSize: 9, maxDelay: .seconds(1), clock: clock, on: .inline) {
      batch in
      guard let future = mine.value else { return Promises.makeSucceeded(with: batch) }
      return future.mapToValue(on: .inline) { [$0] }
    }
    own.value = cyclic
    mine.value = cyclic.add(1)
    cyclic.flush()
    guard case .cycle? = mine.value?.error as? ProperationsError else {
      Issue.record("\(String(describing: mine.value))")
      return
    }
    (own.value, mine.value) = (nil, nil)
  }

  @Test func `a batcher that nobody holds works on what it has, and nothing is kept`() async {
    let tracker = LifetimeTracker()
    let isDone = Event()
    do {
      let batcher = Batcher<Tracked, Int>(
        maxSize: 9, maxDelay: .seconds(1), clock: clock, on: .inline
      ) { Promises.makeSucceeded(with: $0.map { _ in 1 }) }
      batcher.add(tracker.make()).onSuccess(on: .inline) { _ in isDone.signal() }
    }
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(1))
    #expect(await isDone.opened())
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test func `8 threads add, cancel and flush: each settles, and no batch is too large`() async {
    let tooLarge = Counter()
    let batcher = Batcher<Int, Int>(maxSize: 5, maxDelay: .milliseconds(1), on: .inline) { batch in
      if batch.count > 5 { tooLarge.add() }
      return Promises.makeSucceeded(with: batch)
    }
    let (open, wrong) = (Counter(), Counter())
    let isDone = await RaceHarness(threads: 8, rounds: 2_000).run {
      $0
    } act: { round, index in
      open.add()
      let future = batcher.add(round * 8 + index)
      future.onCompletion(on: .inline) { result in
        open.add(-1)
        if let value = result.successValue, value != round * 8 + index { wrong.add() }
      }
      if index == 0 { future.cancel() } else if index == 1 { batcher.flush() }
    }
    #expect(isDone)
    #expect(await eventually { open.value == 0 })
    #expect(wrong.value == 0 && tooLarge.value == 0)
  }

  @Test func `100,000 elements in one batch need no stack`() async throws {
    let count = 100_000
    let sum = try await SmallStackThread.running(within: .seconds(240)) { () -> Int in
      let batcher = Batcher<Int, Int>(maxSize: count, maxDelay: .seconds(60), on: .inline) {
        Promises.makeSucceeded(with: $0)
      }
      let futures = (0..<count).map { batcher.add($0) }
      return futures.reduce(0) { $0 + ($1.result?.successValue ?? 0) }
    }
    #expect(sum == count * (count - 1) / 2)
  }
}
