import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing
import TypedTasks

@Suite("Typed tasks on a clock of the test", .timeLimit(.minutes(5)), .oneAtATime)
struct TimingOnClocksTests {
  private let queue = TaskQueue()
  private let clock = ManualClock()

  /// The time limit that has ended a task.
  private func limit(thatEnded task: ProducerTask<Int, TestError>) -> Duration? {
    guard case .failure(.internal(let error)) = task.produced,
      case .timedOut(after: let limit)? = error as? ProducerTaskError
    else { return nil }
    return limit
  }

  @Test func `a delay ends when the clock has been moved`() async throws {
    let task = succeeding(1).delay(for: .seconds(60), clock: clock)
    queue.addTask(task)
    #expect(try await clock.nextSleep().duration == .seconds(60))
    #expect(!task.isFinished)
    clock.advance(by: .seconds(60))
    #expect(await task.outcome() == .success)
  }

  @Test func `a timeout ends what takes longer on the clock`() async throws {
    let work = Manual<Int>()
    let task = work.timeout(after: .seconds(10), clock: clock)
    queue.addTask(task)
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(10))
    _ = await task.completion
    #expect(limit(thatEnded: task) == .seconds(10))
  }

  @Test func `an interval is measured on the clock`() async throws {
    let work = Manual<Int>()
    let task = work.measureInterval(clock: clock)
    queue.addTask(task)
    await work.started.opened()
    clock.advance(by: .seconds(42))
    work.finish(with: .success(1))
    #expect(await task.completion.successValue == .seconds(42))
  }

  @Test func `an interval ends with the work, also if the operator waits for a slot`() async throws
  {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let (work, next) = (Manual<Int>(), Manual<Int>())
    let task = work.measureInterval(clock: clock)
    queue.addTask(task)
    queue.addTask(next)
    await work.started.opened()
    clock.advance(by: .seconds(42))
    // (An operator follows in the slot only within a millisecond.)
    try await Task.sleep(for: .milliseconds(5))
    work.finish(with: .success(1))
    await next.started.opened()
    clock.advance(by: .seconds(8))
    next.finish(with: .success(1))
    #expect(await task.completion.successValue == .seconds(42))
  }

  @Test func `an observer ends a task when its time on the clock is up`() async throws {
    let task = Manual<Int>().addObserver(.timeout(.seconds(5), clock: clock))
    queue.addTask(task)
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(5))
    _ = await task.completion
    #expect(limit(thatEnded: task) == .seconds(5))
    #expect(clock.sleeping == 0)
  }

  @Test func `a condition of time is met when the clock has been moved`() async throws {
    let task = succeeding(1).addCondition(.delay(.seconds(3), clock: clock))
    queue.addTask(task)
    _ = try await clock.nextSleep()
    #expect(!task.isFinished)
    clock.advance(by: .seconds(3))
    #expect(await task.outcome() == .success)
  }

  @Test func `the error of a clock is the result, and a condition of time is met`() async {
    let delayed = succeeding(1).delay(for: .seconds(1), clock: BrokenClock(error: TestError.second))
    let limited = Manual<Int>().timeout(
      after: .seconds(1), clock: BrokenClock(error: TestError.second))
    let conditional = succeeding(1).addCondition(
      .delay(.seconds(1), clock: BrokenClock(error: TestError.second)))
    queue.addAll([delayed, limited, conditional])
    for task in [delayed, limited] {
      _ = await task.completion
      guard case .failure(.internal(let error)) = task.produced else {
        Issue.record("\(String(describing: task.produced))")
        continue
      }
      #expect(error as? TestError == .second)
    }
    #expect(await conditional.outcome() == .success)
  }

  @Test func `the clock of a retry policy throws: its error is the result, and no attempt follows`()
    async
  {
    for error in [TestError.second, CancellationError()] as [any Error] {
      let policy = RetryPolicy(
        attempts: 4, delay: .constant(.seconds(60)), clock: BrokenClock(error: error))
      let attempts = Log<Int>()
      let following = failing().retry(policy) { attempt in
        attempts.append(attempt)
        return failing()
      }
      let first = Tasks.retry(policy) { attempt -> Sample<Int> in
        attempts.append(attempt)
        return failing()
      }
      queue.addAll([following, first])
      for task in [following, first] {
        _ = await task.completion
        guard case .failure(.internal(let last)) = task.produced else {
          Issue.record("\(String(describing: task.produced))")
          continue
        }
        #expect(last as? TestError == .second || task.isCancelled)
      }
      #expect(attempts.entries == [1])
    }
  }

  @Test func `cancelling releases the sleep`() async throws {
    let tasks = [
      succeeding(1).delay(for: .seconds(60), clock: clock),
      succeeding(1).addCondition(.delay(.seconds(60), clock: clock)),
      Manual<Int>().timeout(after: .seconds(60), clock: clock),
    ]
    queue.addAll(tasks)
    for _ in tasks { _ = try await clock.nextSleep() }
    for task in tasks {
      task.cancel()
      _ = await task.completion
    }
    #expect(await eventually { clock.sleeping == 0 })
    #expect(tasks.allSatisfy { $0.isCancelled })
  }

  @Test func `intervals of Dispatch are times as well`() async {
    let task = Manual<Int>().timeout(after: DispatchTimeInterval.milliseconds(1))
    queue.addTask(task)
    _ = await task.completion
    #expect(limit(thatEnded: task) == .milliseconds(1))
  }

  @Test func `retries share a budget, and each task adds to it`() async {
    let budget = RetryBudget(ratio: 0.5, minimumPerSecond: 0, clock: clock)
    let attempts = Counter()
    for _ in 0..<10 {
      let task = Tasks.retry(RetryPolicy(attempts: 9, budget: budget)) {
        _ -> ProducerTask<Int, TestError> in
        attempts.add()
        return Tasks.fail(.first)
      }
      queue.addTask(task)
      #expect(await task.outcome() == .provided)
    }
    #expect(attempts.value == 15)
  }
}

@Suite("A rate limiter as a condition", .timeLimit(.minutes(5)), .oneAtATime)
struct RateConditionTests {
  private let queue = TaskQueue()
  private let clock = ManualClock()

  @Test func `tasks run at the rate, in the order in which they become ready`() async throws {
    let limiter = RateLimiter(permits: 2, per: .seconds(1), clock: clock)
    let order = Log<Int>()
    let tasks = (0..<5).map { index in
      succeeding(index).addCondition(limiter).receive { _ in order.append(index) }
    }
    for task in tasks { queue.addTask(task) }
    for task in tasks.prefix(2) { _ = await task.completion }
    #expect(await eventually { limiter.waitingCount == 3 })
    for task in tasks.dropFirst(2) {
      #expect(!task.isFinished)
      #expect(await eventually { clock.sleeping > 0 })
      clock.advance(by: .milliseconds(500))
      _ = await task.completion
    }
    #expect(order.entries.sorted() == [0, 1, 2, 3, 4])
    #expect(order.entries.dropFirst(2) == [2, 3, 4])
  }

  @Test func `each key has a rate of its own`() async {
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    let tasks = ["a", "b", "a"].map { key in
      succeeding(1).addCondition(.rate(limiter, for: key))
    }
    for task in tasks { queue.addTask(task) }
    for task in tasks.prefix(2) { #expect(await task.outcome() == .success) }
    #expect(await eventually { limiter.waitingCount == 1 })
    #expect(!tasks[2].isFinished)
    clock.advance(by: .seconds(1))
    #expect(await tasks[2].outcome() == .success)
  }

  @Test func `a task that waits for a permit holds no slot`() async {
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    queue.maxConcurrentTaskCount = 1
    let tasks = (0..<3).map { _ in succeeding(1).addCondition(limiter) }
    for task in tasks { queue.addTask(task) }
    #expect(await eventually { limiter.waitingCount == 2 })
    let other = succeeding(2)
    queue.addTask(other)
    #expect(await other.outcome() == .success)
    for task in tasks { task.cancel() }
    #expect(await eventually { queue.taskCount == 0 })
  }

  @Test func `a cancelled task leaves the line and uses no permit`() async {
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    let tasks = (0..<3).map { _ in succeeding(1).addCondition(limiter) }
    for task in tasks { queue.addTask(task) }
    #expect(await eventually { limiter.waitingCount == 2 })
    tasks[1].cancel()
    #expect(await eventually { limiter.waitingCount == 1 })
    #expect(await tasks[1].outcome() == .cancelled)
    #expect(await eventually { clock.sleeping > 0 })
    clock.advance(by: .seconds(1))
    #expect(await tasks[2].outcome() == .success)
  }

  @Test func `the error of the limiter's clock keeps the task from running`() async {
    let limiter = RateLimiter(
      permits: 1, per: .seconds(1_000), clock: BrokenClock(error: TestError.second))
    let tasks = (0..<2).map { _ in succeeding(1).addCondition(limiter) }
    for task in tasks { queue.addTask(task) }
    #expect(await tasks[0].outcome() == .success)
    #expect(await tasks[1].outcome() == .conditions)
  }

  @Test func `a limiter that is not used by tasks stays what it is`() {
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    #expect(limiter.acquire().isFulfilled)
    #expect(limiter.categories.isEmpty)
  }

  @Test func `a task that ends while it waits for a permit leaves the line and uses none`() async {
    let (queue, clock) = (TaskQueue(), ManualClock())
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    let tasks = (0..<3).map { _ in succeeding(1).addCondition(limiter) }
    queue.addAll(tasks)
    #expect(await eventually { limiter.waitingCount == 2 })
    tasks[1].finish(with: .success(2))
    #expect(await eventually { limiter.waitingCount == 1 })
    #expect(await eventually { clock.sleeping > 0 })
    clock.advance(by: .seconds(1))
    #expect(await tasks[2].outcome() == .success)
  }
}
