import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing

@Suite("explore", .timeLimit(.minutes(5)), .oneAtATime)
struct ExploreTests {
  /// Attaches closures to a promise and returns the order in which a schedule runs them.
  private func order(_ schedule: SeededSchedule) -> [Int] {
    let log = Log<Int>()
    for index in 0..<6 {
      schedule.context.execute(BlockOperation { log.append(index) })
    }
    schedule.runAll()
    return log.entries
  }

  @Test func `every seed is played once, in order`() async throws {
    var seeds: [UInt64] = []
    try await explore(seeds: 3..<6, replaying: nil, at: "") { seeds.append($0.seed) }
    #expect(seeds == [3, 4, 5])
  }

  @Test func `the same seed gives the same order, and seeds differ`() {
    #expect(order(SeededSchedule(seed: 1)) == order(SeededSchedule(seed: 1)))
    let orders = Set((0..<50).map { order(SeededSchedule(seed: $0)) })
    #expect(orders.count > 10)
    #expect(orders.allSatisfy { $0.sorted() == Array(0..<6) })
  }

  @Test func `a failing seed ends the run and is named; replaying plays it alone`() async throws {
    func body(_ schedule: SeededSchedule) throws {
      try schedule.require(order(schedule).first != 0, "zero is first")
    }
    var failing: UInt64?
    do {
      try await explore(seeds: 0..<1_000, replaying: nil, at: "here") { try body($0) }
    } catch ExplorationError.failed(let seed, let error, let place) {
      failing = seed
      #expect(error is UnmetRequirement)
      #expect(place == "here")
    }
    let seed = try #require(failing)

    var played: [UInt64] = []
    do {
      try await explore(seeds: 0..<1_000, replaying: "\(seed)", at: "here") { schedule in
        played.append(schedule.seed)
        try body(schedule)
      }
      Issue.record("the replayed seed has not failed")
    } catch let error as ExplorationError {
      #expect(error.description.contains("FUTURES_SEED=\(seed)"))
      #expect(error.description.contains("zero is first"))
      #expect(error.description.contains("ExploreTests.swift:"))
      #expect(error.localizedDescription == error.description)
    }
    #expect(played == [seed])
  }

  @Test func `no seeds, and a variable that is no seed, are errors`() async {
    do {
      try await explore(seeds: [], replaying: nil, at: "here") { _ in }
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.localizedDescription.contains("no seeds"))
    }
    for text in ["", "-1", "one", "18446744073709551616"] {
      do {
        try await explore(seeds: 0..<2, replaying: text, at: "here") { _ in
          Issue.record("it was played")
        }
        Issue.record("nothing was thrown")
      } catch {
        #expect(error.localizedDescription.contains("'\(text)'"))
      }
    }
  }

  @Test func `cancelling ends endless seeds`() async {
    let started = Event()
    let task = Task {
      try await explore(seeds: sequence(first: 0) { $0 &+ 1 }, replaying: nil, at: "") { _ in
        started.signal()
      }
    }
    #expect(await started.opened())
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `closures that were not run are released after each schedule`() async throws {
    let tracker = LifetimeTracker()
    try await explore(seeds: 0..<3, replaying: nil, at: "") { schedule in
      #expect(tracker.alive == 0)
      let tracked = tracker.make()
      schedule.context.execute(BlockOperation { tracked.touch() })
    }
    #expect(tracker.alive == 0)
  }

  @Test func `a closure that only the release asks for is released too, with the context`()
    async throws
  {
    try await expectReleased { leaks in
      try await explore(seeds: 0..<3, replaying: nil, at: "") { schedule in
        let promise = leaks.track(Promise<Int>())
        leaks.track(schedule.context)
        leaks.track(
          promise.mapToValue(on: schedule.context) { $0 }.recover(on: schedule.context) { _ in 2 })
        promise.succeed(with: 1)
      }
    }
  }

  #if os(Linux) || os(macOS)
    @Test func `a schedule that leaves a retry without end: the next one runs`() async {
      await #expect(processExitsWith: .success) {
        OwnProcess.fail(after: Event.patience)
        let played = Counter()
        try await explore(seeds: 0..<3, replaying: nil, at: "") { schedule in
          played.add()
          _ = Promises.retry(RetryPolicy(attempts: .max), on: schedule.context) { _ in
            Promises.makeSucceeded(with: 1)
          }
        }
        exit(played.value == 3 ? EXIT_SUCCESS : EXIT_FAILURE)
      }
    }

    @Test func `a future asks again whatever its end is: dropping all returns`() async {
      await #expect(processExitsWith: .success) {
        OwnProcess.fail(after: Event.patience)
        let context = ManualContext()
        @Sendable func again() {
          Promises.run(on: context) {}.onCompletion(on: .inline) { _ in again() }
        }
        again()
        exit(context.dropAll() > 0 ? EXIT_SUCCESS : EXIT_FAILURE)
      }
    }
  #endif

  @Test func `a retry without end that is dropped is cancelled in the end`() {
    let context = ManualContext()
    let future = Promises.retry(RetryPolicy(attempts: .max), on: context) { _ in
      Promises.makeSucceeded(with: 1)
    }
    context.dropAll()
    #expect(future.isCancelled && context.count == 0)
  }

  @Test func `a limit ends a run whose closures add closures for ever`() {
    let schedule = SeededSchedule(seed: 1)
    let context = schedule.context
    @Sendable func again() { context.execute(BlockOperation { again() }) }
    again()
    #expect(schedule.runAll(limit: 10) == 10)
    #expect(schedule.runAll(limit: 0) == 0)
    #expect(schedule.runAll(limit: -1) == 0)
    #expect(context.runAll(limit: 4) == 4)
    #expect(context.dropAll() == 1)
  }

  @Test func `a closure may run the schedule's other closures`() {
    let schedule = SeededSchedule(seed: 1)
    let log = Log<Int>()
    for index in 0..<3 {
      schedule.context.execute(
        BlockOperation {
          log.append(index)
          schedule.runAll()
        })
    }
    schedule.runAll()
    #expect(log.entries.sorted() == [0, 1, 2])
  }
}
