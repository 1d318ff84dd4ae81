import Futures
import FuturesTestSupport
import TestSupport
import Testing

@Suite("ManualClock", .timeLimit(.minutes(5)), .oneAtATime)
struct ManualClockTests {
  private let clock = ManualClock()

  private func sleeper(_ duration: Duration) -> Task<Void, any Error> {
    Task { [clock] in try await clock.sleep(for: duration) }
  }

  @Test func `a sleep ends when the clock reaches its deadline, and not before`() async throws {
    let task = sleeper(.seconds(10))
    let sleep = try await clock.nextSleep()
    #expect(sleep.duration == .seconds(10))
    #expect(sleep.deadline.offset == .seconds(10))
    clock.advance(by: .seconds(9))
    #expect(clock.sleeping == 1)
    clock.advance(by: .seconds(1))
    #expect(clock.sleeping == 0)
    try await task.value
    #expect(clock.now.offset == .seconds(10))
  }

  @Test func `a call of nextSleep that waits gets the next sleep`() async throws {
    let seen = Task { [clock] in try await clock.nextSleep() }
    let task = sleeper(.seconds(1))
    #expect(try await seen.value.duration == .seconds(1))
    clock.advance(by: .seconds(1))
    try await task.value
  }

  @Test func `each sleep is told once, in the order in which the sleeps begin`() async throws {
    let first = sleeper(.seconds(5))
    #expect(await eventually { clock.sleeping == 1 })
    let second = sleeper(.seconds(3))
    #expect(await eventually { clock.sleeping == 2 })
    #expect(try await clock.nextSleep().duration == .seconds(5))
    #expect(try await clock.nextSleep().duration == .seconds(3))
    clock.advance(by: .seconds(5))
    try await first.value
    try await second.value
  }

  @Test func `a sleep that has ended is not told any more`() async throws {
    let over = sleeper(.seconds(1))
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(1))
    try await over.value
    let cancelled = sleeper(.seconds(2))
    #expect(await eventually { clock.sleeping == 1 })
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    try await clock.sleep(for: .seconds(-1))
    let task = sleeper(.seconds(3))
    #expect(try await clock.nextSleep().duration == .seconds(3))
    clock.advance(by: .seconds(3))
    try await task.value
  }

  @Test func `a cancelled sleeper wakes with CancellationError`() async {
    let task = sleeper(.seconds(1))
    #expect(await eventually { clock.sleeping == 1 })
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.sleeping == 0)
  }

  @Test func `a task that is cancelled before it sleeps does not sleep`() async {
    let task = Task { [clock] in
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.sleeping == 0)
  }

  @Test func `a cancelled call of nextSleep throws and takes no sleep`() async throws {
    let early = Task { [clock] in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await clock.nextSleep()
    }
    await #expect(throws: CancellationError.self) { try await early.value }
    let late = Task { [clock] in try await clock.nextSleep() }
    late.cancel()
    await #expect(throws: CancellationError.self) { try await late.value }
    let task = sleeper(.seconds(1))
    #expect(try await clock.nextSleep().duration == .seconds(1))
    clock.advance(by: .seconds(1))
    try await task.value
  }

  @Test func `a clock that is set back wakes nobody, and its sleepers keep their deadlines`()
    async throws
  {
    let task = sleeper(.seconds(2))
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(-5))
    #expect(clock.sleeping == 1)
    #expect(clock.now.offset == .seconds(-5))
    clock.advance(by: .seconds(7))
    try await task.value
  }

  @Test func `times beyond the range end at the range, without a trap`() async throws {
    let longest = Duration(attoseconds: .max)
    clock.advance(by: longest)
    clock.advance(by: longest)
    let end = clock.now
    try await clock.sleep(for: longest)
    clock.advance(by: .zero - longest)
    clock.advance(by: .zero - longest)
    #expect(clock.now < end)
    #expect(clock.now.duration(to: end).components.seconds > 0)
  }

  @Test func `of many sleeps and calls that come and go, each is told once`() async throws {
    let sleepers = (1...60).map { sleeper(.seconds($0)) }
    #expect(await eventually { clock.sleeping == 60 })
    var durations = Set<Duration>()
    for _ in 0..<20 { durations.insert(try await clock.nextSleep().duration) }
    #expect(durations.count == 20)
    // Some that were told about and some that were not.
    for sleeper in sleepers.prefix(30) { sleeper.cancel() }
    for sleeper in sleepers.prefix(30) { _ = await sleeper.result }
    clock.advance(by: .seconds(45))
    for sleeper in sleepers[30..<45] { try await sleeper.value }
    #expect(clock.sleeping == 15)
    let calls = (0..<30).map { _ in Task { [clock] in try await clock.nextSleep() } }
    for call in calls.prefix(10) { call.cancel() }
    for call in calls.prefix(10) { _ = await call.result }
    let late = (1...30).map { sleeper(.seconds(100 + $0)) }
    // The calls and the new sleeps meet in any order, so only their sum is known.
    #expect(await eventually { clock.sleeping == 45 })
    for call in calls.suffix(20) { #expect(try await call.value.duration > .zero) }
    clock.advance(by: .seconds(1_000))
    for task in sleepers.suffix(15) + late { try await task.value }
    #expect(clock.sleeping == 0)
  }

  @Test func `tasks are woken in the order of their deadlines, then of their calls`() async throws {
    // The jobs of one executor run in the order in which they become ready.
    let executor = SuspensionExecutor()
    let log = Log<Int>()
    var tasks: [Task<Void, any Error>] = []
    for (number, seconds) in [5, 3, 4, 3, 1, 5, 2, 3].enumerated() {
      tasks.append(
        Task(executorPreference: executor) { [clock] in
          try await clock.sleep(for: .seconds(seconds))
          log.append(number)
        })
      _ = try await clock.nextSleep()
    }
    // The last task has suspended when the executor runs another one.
    await Task(executorPreference: executor) {}.value
    clock.advance(by: .seconds(5))
    for task in tasks { try await task.value }
    #expect(log.entries == [4, 6, 1, 3, 7, 2, 0, 5])
  }

  @Test func `a retry on the clock waits as its policy says`() async throws {
    let policy = RetryPolicy(attempts: 3, delay: .constant(.seconds(30)), clock: clock)
    let attempts = Log<Int>()
    let future = Promises.retry(policy, on: .inline) { attempt -> Future<Int> in
      attempts.append(0)
      return attempts.entries.count < 3
        ? Promises.makeFailed(with: TestError.first) : Promises.makeSucceeded(with: 7)
    }
    for _ in 0..<2 {
      let sleep = try await clock.nextSleep()
      #expect(sleep.duration == .seconds(30))
      clock.advance(by: sleep.duration)
    }
    #expect(try await future.value == 7)
  }
}
