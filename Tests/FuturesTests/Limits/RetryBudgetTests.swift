import Foundation
import FuturesTestSupport
import TestSupport
import Testing

@testable import Futures

@Suite("RetryBudget", .timeLimit(.minutes(5)), .oneAtATime)
struct RetryBudgetTests {
  private let clock = ManualClock()

  /// Makes futures that fail, and returns the number of their attempts.
  private func fail(_ count: Int, _ policy: RetryPolicy) -> Int {
    let attempts = Counter()
    for _ in 0..<count {
      let future: Future<Int> = Promises.retry(policy, on: .inline) { _ in
        attempts.add()
        throw TestError.first
      }
      #expect(future.error as? TestError == .first)
    }
    return attempts.value
  }

  @Test func `work that fails together makes no more attempts than the ratio allows`() {
    let budget = RetryBudget(ratio: 0.2, minimumPerSecond: 0, clock: clock)
    let policy = RetryPolicy(attempts: 10, budget: budget)
    // Of a hundred, each fifth one earns an attempt.
    #expect(fail(100, policy) == 120)
    #expect(budget.available == 0)
  }

  @Test func `work that succeeds earns attempts for work that fails`() {
    let budget = RetryBudget(ratio: 0.1, minimumPerSecond: 0, clock: clock)
    let policy = RetryPolicy(attempts: 100, budget: budget)
    for _ in 0..<50 {
      #expect(
        Promises.retry(policy, on: .inline) { _ in Promises.makeSucceeded(with: 1) }.isFulfilled)
    }
    #expect(budget.available == 5)
    #expect(fail(1, policy) == 6)
  }

  @Test func `the reserve is there without any work, and comes back after the window`() {
    let budget = RetryBudget(
      ratio: 0, minimumPerSecond: 2, window: .seconds(10), clock: clock)
    let policy = RetryPolicy(attempts: 1_000, budget: budget)
    #expect(budget.available == 20)
    #expect(fail(1, policy) == 21)
    #expect(fail(1, policy) == 1)
    clock.advance(by: .seconds(8))
    #expect(budget.available == 0)
    clock.advance(by: .seconds(2))
    #expect(budget.available == 20)
  }

  @Test func `work is forgotten after the window`() {
    let budget = RetryBudget(ratio: 1, minimumPerSecond: 0, window: .seconds(10), clock: clock)
    for _ in 0..<5 {
      budget.addWork()
      clock.advance(by: .seconds(1))
    }
    #expect(budget.available == 5)
    clock.advance(by: .seconds(6))
    #expect(budget.available == 3)
    clock.advance(by: .seconds(10_000_000))
    #expect(budget.available == 0)
  }

  @Test func `what is not tried again for another reason takes nothing`() {
    let budget = RetryBudget(ratio: 0, minimumPerSecond: 1, clock: clock)
    #expect(budget.available == 10)
    #expect(fail(3, RetryPolicy(attempts: 1, budget: budget)) == 3)
    #expect(fail(3, RetryPolicy(attempts: 5, budget: budget) { _, _ in .stop }) == 3)
    #expect(fail(3, RetryPolicy(attempts: 5, budget: budget, retryIf: { _ in false })) == 3)
    let late = RetryPolicy(
      attempts: 5, delay: .constant(.seconds(9)), deadline: .seconds(1), budget: budget,
      clock: clock)
    #expect(fail(3, late) == 3)
    #expect(budget.available == 10)
  }

  @Test func `a cancelled attempt takes nothing`() {
    let budget = RetryBudget(ratio: 0, minimumPerSecond: 1, clock: clock)
    let future: Future<Int> = Promises.retry(
      RetryPolicy(attempts: 5, budget: budget), on: .inline
    ) { _ in throw CancellationError() }
    #expect(future.isCancelled)
    #expect(budget.available == 10)
  }

  @Test func `async work shares the budget`() async {
    let budget = RetryBudget(ratio: 0.5, minimumPerSecond: 0, clock: clock)
    let attempts = Counter()
    for _ in 0..<10 {
      let future: Future<Int> = Promises.async(
        retrying: RetryPolicy(attempts: 9, budget: budget)
      ) { _ in
        attempts.add()
        throw TestError.first
      }
      #expect(await future.completion.failureValue as? TestError == .first)
    }
    #expect(attempts.value == 15)
  }

  @Test func `threads together take no more than there is`() async {
    let budget = RetryBudget(ratio: 0, minimumPerSecond: 100, clock: clock)
    let taken = Counter()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<1_000 where budget.takeAttempt() { taken.add() }
        }
      }
    }
    #expect(taken.value == 1_000)
  }

  @Test(arguments: [Double.nan, -1, -Double.infinity, 0])
  func `numbers that are none count as zero`(_ number: Double) {
    let budget = RetryBudget(ratio: number, minimumPerSecond: number, clock: clock)
    budget.addWork()
    #expect(budget.available == 0)
    #expect(!budget.takeAttempt())
  }

  @Test(arguments: [Double.infinity, 1e308])
  func `numbers without limit are no limit`(_ number: Double) {
    for budget in [
      RetryBudget(ratio: number, minimumPerSecond: 0, clock: clock),
      RetryBudget(ratio: 0, minimumPerSecond: number, clock: clock),
    ] {
      budget.addWork()
      #expect(budget.available == Int.max)
      #expect(budget.takeAttempt())
    }
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
  func `a window of no time is a millisecond`(_ window: Duration) {
    let budget = RetryBudget(ratio: 1, minimumPerSecond: 1_000, window: window, clock: clock)
    #expect(budget.available == 1)
    #expect(budget.takeAttempt() && !budget.takeAttempt())
    clock.advance(by: .milliseconds(1))
    #expect(budget.available == 1)
  }

  @Test func `a window of all time counts everything`() {
    let budget = RetryBudget(
      ratio: 1, minimumPerSecond: 0, window: .seconds(Int64.max), clock: clock)
    budget.addWork()
    clock.advance(by: .seconds(1_000_000))
    #expect(budget.available == 1)
  }

  @Test func `after a jump ahead and back the clock still frees what is used up`() {
    let clock = UserClock()
    let budget = RetryBudget(
      ratio: 0, minimumPerSecond: 1, window: .seconds(10), clock: clock)
    clock.time.value = .seconds(1_000_000)
    _ = budget.available
    clock.time.value = .seconds(5)
    let taken = (0..<11).count { _ in budget.takeAttempt() }
    clock.time.value = .seconds(6)
    let before = budget.available
    clock.time.value = .seconds(16)
    #expect(taken == 10 && before == 0 && budget.available == 10)
  }

  @Test func `a clock that is set back or jumps changes nothing for the worse`() {
    let clock = UserClock()
    let budget = RetryBudget(ratio: 1, minimumPerSecond: 0, clock: clock)
    clock.time.value = .seconds(100)
    budget.addWork()
    clock.time.value = .seconds(-1_000_000)
    #expect(budget.available == 1)
    clock.time.value = .seconds(Int64.min)
    #expect(budget.available == 1)
    clock.time.value = .seconds(Int64.max)
    #expect(budget.available == 0)
    budget.addWork()
    #expect(budget.takeAttempt() && !budget.takeAttempt())
  }

  @Test func `a clock that uses the budget does not deadlock`() {
    let clock = UserClock()
    let budget = RetryBudget(ratio: 0, minimumPerSecond: 1, clock: clock)
    let depth = Box(0)
    clock.onNow.value = { [weak budget] in
      guard depth.value < 3 else { return }
      depth.value += 1
      _ = budget?.available
    }
    #expect(budget.takeAttempt())
    #expect(depth.value == 3)
    clock.onNow.value = nil
  }
}

@Suite("Hedging within a budget", .timeLimit(.minutes(5)), .oneAtATime)
struct HedgingBudgetTests {
  private let clock = ManualClock()

  @Test func `without budget no further attempt starts, and the first one counts`() async {
    let budget = RetryBudget(ratio: 0, minimumPerSecond: 0, clock: clock)
    let (promise, attempts) = (Promise<Int>(), Counter())
    let future = Promises.hedge(
      after: .seconds(1), attempts: 3, budget: budget, clock: clock, on: .inline
    ) { _ in
      attempts.add()
      return promise
    }
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(1))
    #expect(await eventually { clock.sleeping == 0 })
    promise.succeed(with: 1)
    #expect(future.result?.successValue == 1)
    #expect(attempts.value == 1)
  }

  @Test func `a failure that the budget lets nothing follow is the only error`() {
    let budget = RetryBudget(ratio: 1, minimumPerSecond: 0, clock: clock)
    let attempts = Counter()
    let future: Future<Int> = Promises.hedge(
      after: .seconds(1), attempts: 9, budget: budget, clock: clock, on: .inline
    ) { attempt in
      attempts.add()
      throw TestError.numbered(attempt)
    }
    #expect(
      future.error as? ProperationsError
        == .multipleErrors([TestError.numbered(1), TestError.numbered(2)]))
    #expect(attempts.value == 2)
    #expect(budget.available == 0)
  }

  @Test func `every hedge adds to the budget, every further attempt takes from it`() async {
    let budget = RetryBudget(ratio: 0.5, minimumPerSecond: 0, clock: clock)
    let attempts = Counter()
    for _ in 0..<10 {
      let future: Future<Int> = Promises.hedge(
        after: .seconds(1), attempts: 2, budget: budget, clock: clock, on: .inline
      ) { _ in
        attempts.add()
        throw TestError.first
      }
      #expect(future.isFulfilled)
    }
    #expect(attempts.value == 15)
  }

  @Test func `if the first attempt is cancelled and no other allowed, the hedge is cancelled`() {
    var machine = HedgeMachine(attempts: 3)
    guard case .start(1, isLast: false) = machine.begin(),
      case .start(2, isLast: false) = machine.timeIsUp(after: 1),
      case .wait = machine.attemptHasFailed(1, CancellationError(), isCancelled: true),
      case .cancel(let error) = machine.attemptWasRefused(2), error is CancellationError,
      case .wait = machine.attemptHasSucceeded()
    else {
      Issue.record("\(machine)")
      return
    }
  }

  @Test func `attempts that were refused have no entry among the errors`() {
    var machine = HedgeMachine(attempts: 9)
    guard case .start(1, isLast: false) = machine.begin(),
      case .start(2, isLast: false) = machine.timeIsUp(after: 1),
      case .start(3, isLast: false) = machine.attemptHasFailed(
        1, TestError.first, isCancelled: false),
      case .wait = machine.attemptWasRefused(2),
      case .wait = machine.timeIsUp(after: 3),
      case .fail(let errors) = machine.attemptHasFailed(3, TestError.second, isCancelled: false)
    else {
      Issue.record("\(machine)")
      return
    }
    #expect(errors.map { $0 as? TestError } == [.first, .second])
  }
}
