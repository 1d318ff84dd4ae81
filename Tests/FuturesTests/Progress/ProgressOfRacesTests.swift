import FuturesTestSupport
import TestSupport
import Testing

@testable import Futures

@Suite("Progress of races", .timeLimit(.minutes(5)), .oneAtATime)
struct ProgressOfRacesTests {
  // MARK: Races

  @Test func `a race has the progress of the input that is furthest`() {
    let races: [([Future<Int>]) -> AnyFuture] = [
      { Promises.race($0) }, { Promises.firstCompleted($0) }, { Promises.select($0) },
      { $0[0] || $0[1] || $0[2] },
    ]
    for make in races {
      let promises = (0..<3).map { _ in Promise<Int>() }
      let race = make(promises)
      #expect(race.currentProgress.isIndeterminate)
      promises[1].report(completed: 1, of: 4)
      #expect(race.currentProgress.fractionCompleted == 0.25)
      promises[0].report(completed: 1, of: 2)
      #expect(race.currentProgress.fractionCompleted == 0.5)
      promises[1].report(completed: 3, of: 4)
      #expect(race.currentProgress.fractionCompleted == 0.75)
      promises[2].succeed(with: 1)
      #expect(race.currentProgress.fractionCompleted == 1)
      for promise in promises { promise.cancel() }
    }
  }

  @Test func `the input that is furthest fails: the race does not fall, and goes on from there`() {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let race = Promises.race(promises)
    promises[0].report(completed: 3, of: 4)
    promises[1].report(completed: 1, of: 4)
    #expect(race.currentProgress.fractionCompleted == 0.75)
    promises[0].fail(with: TestError.first)
    #expect(race.currentProgress.fractionCompleted == 0.75)
    promises[1].report(completed: 7, of: 8)
    #expect(race.currentProgress.fractionCompleted == 0.875)
    promises[1].cancel()
    promises[2].report(completed: 1, of: 16)
    #expect(race.currentProgress.fractionCompleted == 0.875)
    promises[2].fail(with: TestError.second)
    #expect(race.error != nil && race.currentProgress.isIndeterminate)
  }

  @Test func `all known inputs of a race fail: what was seen stays known`() {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let race = Promises.race(promises)
    promises[0].report(completed: 1, of: 2)
    #expect(race.currentProgress.fractionCompleted == 0.5)
    promises[0].fail(with: TestError.first)
    #expect(!race.currentProgress.isIndeterminate)
    #expect(race.currentProgress.fractionCompleted == 0.5)
    race.cancel()
    #expect(race.currentProgress.isIndeterminate)
  }

  @Test func `races of settled inputs, of none and of one input several times`() {
    #expect(
      Promises.race([Promises.makeSucceeded(with: 1)]).currentProgress.fractionCompleted == 1)
    #expect(Promises.race([Future<Int>]()).currentProgress.isIndeterminate)
    let failed: Future<Int> = Promises.makeFailed(with: TestError.first)
    let promise = Promise<Int>()
    let race = Promises.race([failed, promise, promise])
    promise.report(completed: 1, of: 2)
    #expect(race.currentProgress.fractionCompleted == 0.5)
    #expect(race.currentProgress.completed == nil)
    promise.cancel()
  }

  @Test func `an input of a race is released: the others go on`() {
    var first: Promise<Int>? = Promise<Int>()
    let second = Promise<Int>()
    let race = Promises.race([first!, second])
    first?.report(completed: 3, of: 4)
    #expect(race.currentProgress.fractionCompleted == 0.75)
    first = nil
    second.report(completed: 7, of: 8)
    #expect(race.currentProgress.fractionCompleted == 0.875)
    second.succeed(with: 1)
    #expect(race.currentProgress.fractionCompleted == 1)
  }

  @Test func `a race upstream of a chain, and a join of races`() {
    let promises = (0..<4).map { _ in Promise<Int>() }
    let races = [Promises.race(promises[0...1]), Promises.race(promises[2...3])]
    let end = Promises.collect(races).mapToFuture(on: .inline) { _ in Promise<Int>() }
    promises[0].report(completed: 1, of: 2)
    promises[3].report(completed: 1, of: 1)
    #expect(end.currentProgress.fractionCompleted == 0.375)
    promises[0].fail(with: TestError.first)
    #expect(end.currentProgress.fractionCompleted == 0.375)
    promises[1].report(completed: 3, of: 4)
    #expect(end.currentProgress.fractionCompleted == 0.4375)
    for promise in promises { promise.cancel() }
  }

  @Test func `a consumer of a race never sees it fall, and learns of each input`() async {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let race = Promises.race(promises).mapToValue(on: .inline) { $0 }
    let progress = race.makeProgress()
    var updates = race.progressUpdates.makeAsyncIterator()
    #expect(await updates.next()?.isIndeterminate == true)
    promises[0].report(completed: 1, of: 2)
    #expect(await updates.next()?.fractionCompleted == 0.5)
    promises[0].fail(with: TestError.first)
    promises[1].report(completed: 1, of: 4)
    promises[2].report(completed: 3, of: 4)
    #expect(await updates.next()?.fractionCompleted == 0.75)
    #expect(progress.fractionCompleted == 0.75)
    promises[1].succeed(with: 1)
    #expect(await updates.next()?.fractionCompleted == 1)
    #expect(await updates.next() == nil)
    #expect(progress.isFinished)
  }

  @Test func `a closure that reads the race while an input settles finds a value`() {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let race = Promises.race(promises)
    let seen = Log<Double>()
    for promise in promises {
      promise.onCompletion(on: .inline) { _ in seen.append(race.currentProgress.fractionCompleted) }
    }
    promises[0].report(completed: 1, of: 2)
    _ = race.currentProgress
    promises[0].fail(with: TestError.first)
    promises[1].succeed(with: 1)
    #expect(seen.entries == [0.5, 1])
  }

  // MARK: The first successes

  @Test func `the first of several successes: the mean of those that are furthest`() {
    let promises = (0..<4).map { _ in Promise<Int>() }
    let first = Promises.first(2, of: promises)
    #expect(first.currentProgress.isIndeterminate)
    promises[0].report(completed: 1, of: 2)
    #expect(first.currentProgress.fractionCompleted == 0.25)
    promises[1].report(completed: 1, of: 4)
    promises[2].report(completed: 1, of: 8)
    #expect(first.currentProgress.fractionCompleted == 0.375)
    promises[2].succeed(with: 1)
    #expect(first.currentProgress.fractionCompleted == 0.75)
    promises[0].fail(with: TestError.first)
    #expect(first.currentProgress.fractionCompleted == 0.75)
    promises[3].report(completed: 7, of: 8)
    #expect(first.currentProgress.fractionCompleted == 0.9375)
    promises[3].succeed(with: 1)
    #expect(first.currentProgress.fractionCompleted == 1)
  }

  @Test func `no success is needed, or too many`() {
    let promise = Promise<Int>()
    #expect(Promises.first(0, of: [promise]).currentProgress.fractionCompleted == 1)
    #expect(Promises.first(2, of: [promise]).currentProgress.isIndeterminate)
    promise.cancel()
  }

  // MARK: Hedging

  @Test func `a hedge has the progress of the attempt that is furthest`() async {
    let clock = ManualClock()
    let attempts = (0..<2).map { _ in Promise<Int>() }
    let hedge = Promises.hedge(after: .seconds(1), clock: clock, on: .inline) { attempts[$0 - 1] }
    let end = hedge.mapToValue(on: .inline) { $0 }
    var updates = end.progressUpdates.makeAsyncIterator()
    #expect(await updates.next()?.isIndeterminate == true)
    attempts[0].report(completed: 1, of: 4)
    #expect(await updates.next()?.fractionCompleted == 0.25)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(1))
    #expect(await eventually { attempts[1].hasWaiters })
    attempts[1].report(completed: 1, of: 2)
    #expect(await updates.next()?.fractionCompleted == 0.5)
    attempts[1].fail(with: TestError.first)
    #expect(hedge.currentProgress.fractionCompleted == 0.5)
    attempts[0].report(completed: 3, of: 4)
    #expect(await updates.next()?.fractionCompleted == 0.75)
    attempts[0].succeed(with: 1)
    #expect(await updates.next()?.fractionCompleted == 1)
    #expect(await updates.next() == nil)
  }

  @Test func `a hedge whose attempts fail, or that is cancelled, is indeterminate`() {
    let failing = Promises.hedge(after: .seconds(1), attempts: 1, on: .inline) { _ in
      Promises.makeFailed(with: TestError.first, promising: Int.self)
    }
    #expect(failing.error != nil && failing.currentProgress.isIndeterminate)
    let attempt = Promise<Int>()
    let cancelled = Promises.hedge(after: .seconds(1), attempts: 1, on: .inline) { _ in attempt }
    attempt.report(completed: 1, of: 2)
    #expect(cancelled.currentProgress.fractionCompleted == 0.5)
    cancelled.cancel()
    #expect(attempt.isCancelled && cancelled.currentProgress.isIndeterminate)
  }

  // MARK: Size

  @Test func `four times the inputs, or alternatives in a row, take at most four times the visits`()
  {
    func visits(_ count: Int, _ make: ([Future<Int>]) -> AnyFuture) -> Int {
      let promises = (0..<count).map { _ in Promise<Int>() }
      let visits = ProgressWalk(from: make(promises)).visits
      for promise in promises { promise.cancel() }
      return visits
    }
    let races: [([Future<Int>]) -> AnyFuture] = [
      { Promises.race($0) }, { Promises.first($0.count / 2, of: $0) },
      { futures in futures.dropFirst().reduce(futures[0]) { $0 || $1 } },
    ]
    for make in races {
      let (small, large) = (visits(100, make), visits(400, make))
      #expect(small > 100 && large <= 4 * small + 4)
    }
  }

  @Test(arguments: 0..<20)
  func `racing reports and failures: the progress never falls, and ends with 1`(seed: Int) async {
    var generator = SeededGenerator(seed: UInt64(seed))
    let promises = (0..<4).map { _ in Promise<Int>() }
    let winner = Int.random(in: 0..<4, using: &generator)
    let first = Promises.first(1, of: promises).mapToValue(on: .inline) { $0.count }
    let task = Task {
      var seen: [Double] = []
      for await progress in first.progressUpdates { seen.append(progress.fractionCompleted) }
      return seen
    }
    await withTaskGroup { group in
      for (index, promise) in promises.enumerated() where index != winner {
        group.addTask {
          var last = 0.0
          for step in 1...50 {
            promise.report(completed: step, of: 60)
            let now = first.currentProgress.fractionCompleted
            #expect(now >= last && now <= 1)
            last = now
          }
          promise.fail(with: TestError.first)
        }
      }
    }
    promises[winner].succeed(with: 1)
    let seen = await task.value
    #expect(seen.last == 1)
    #expect(seen == seen.sorted())
  }
}
