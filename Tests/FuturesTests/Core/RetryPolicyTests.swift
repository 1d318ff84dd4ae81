import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("RetryPolicy", .timeLimit(.minutes(5)), .oneAtATime)
struct RetryPolicyTests {
  /// The waits of a policy after attempts that fail, until there is no further attempt.
  private func waits(_ policy: RetryPolicy, atMost limit: Int = 10) -> [Duration] {
    var waits: [Duration] = []
    while waits.count < limit,
      let wait = policy.wait(after: TestError.first, ofAttempt: waits.count + 1)
    {
      waits.append(wait)
    }
    return waits
  }

  private let century = Duration.seconds(100 * 365 * 24 * 3600)

  // MARK: Attempts

  @Test("The number of attempts includes the first one, and is one at least")
  func attempts() {
    #expect(RetryPolicy(attempts: 3).attempts == 3)
    #expect(waits(RetryPolicy(attempts: 3)) == [.zero, .zero])
    for count in [1, 0, -1, .min] {
      #expect(RetryPolicy(attempts: count).attempts == 1)
      #expect(waits(RetryPolicy(attempts: count)) == [])
    }
    #expect(RetryPolicy(attempts: .max).wait(after: TestError.first, ofAttempt: .max - 1) == .zero)
    #expect(RetryPolicy(attempts: .max).wait(after: TestError.first, ofAttempt: .max) == nil)
  }

  // MARK: Delays

  @Test("Delays are none, constant, linear and exponential up to a maximum")
  func delays() {
    func waits(_ delay: RetryPolicy.Delay) -> [Duration] {
      self.waits(RetryPolicy(attempts: 5, delay: delay))
    }
    #expect(waits(.none) == Array(repeating: .zero, count: 4))
    #expect(waits(.constant(.seconds(2))) == Array(repeating: .seconds(2), count: 4))
    #expect(
      waits(.linear(.milliseconds(100)))
        == [.milliseconds(100), .milliseconds(200), .milliseconds(300), .milliseconds(400)])
    #expect(
      waits(.exponential(.milliseconds(100)))
        == [.milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800)])
    #expect(
      waits(.exponential(.seconds(1), factor: 3, maximum: .seconds(10)))
        == [.seconds(1), .seconds(3), .seconds(9), .seconds(10)])
    #expect(
      waits(.exponential(.seconds(8), factor: 0.5))
        == [.seconds(8), .seconds(4), .seconds(2), .seconds(1)])
    #expect(
      waits(.custom { attempt, error in .seconds(error as? TestError == .first ? attempt : 0) })
        == [.seconds(1), .seconds(2), .seconds(3), .seconds(4)])
  }

  @Test("Negative delays are none")
  func negativeDelays() {
    for duration in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
      for delay: RetryPolicy.Delay in [
        .constant(duration), .linear(duration), .exponential(duration),
        .exponential(.seconds(1), maximum: duration), .custom { _, _ in duration },
      ] {
        #expect(waits(RetryPolicy(attempts: 3, delay: delay)) == [.zero, .zero])
      }
      let policy = RetryPolicy(attempts: 2) { _, _ in .retry(after: duration) }
      #expect(waits(policy) == [.zero])
    }
  }

  @Test("No delay overflows, and none is longer than a century")
  func longDelays() {
    let longest = Duration.seconds(Int64.max)
    let attempt = Int.max - 1
    for delay: RetryPolicy.Delay in [
      .constant(longest), .linear(longest), .linear(.seconds(1)),
      .exponential(.seconds(1), maximum: longest), .exponential(longest, maximum: longest),
      .exponential(.seconds(1), factor: .infinity, maximum: longest),
      .exponential(.nanoseconds(1), factor: .greatestFiniteMagnitude, maximum: longest),
      .custom { _, _ in longest },
    ] {
      for jitter: RetryPolicy.Jitter in [.none, .full { 1 }] {
        let policy = RetryPolicy(attempts: .max, delay: delay, jitter: jitter)
        #expect(policy.wait(after: TestError.first, ofAttempt: attempt) == century)
      }
    }
    for factor in [-1.0, .nan, -.infinity, 1] {
      let policy = RetryPolicy(attempts: .max, delay: .exponential(.seconds(1), factor: factor))
      #expect(policy.wait(after: TestError.first, ofAttempt: attempt) == .seconds(1))
    }
    #expect(waits(RetryPolicy(attempts: 2) { _, _ in .retry(after: longest) }) == [century])
  }

  // MARK: Jitter

  @Test("Full jitter is a share of the delay, whatever the generator gives")
  func jitter() {
    func wait(_ share: Double) -> Duration? {
      RetryPolicy(attempts: 2, delay: .constant(.seconds(8)), jitter: .full { share })
        .wait(after: TestError.first, ofAttempt: 1)
    }
    #expect(wait(0) == .zero)
    #expect(wait(0.25) == .seconds(2))
    #expect(wait(1) == .seconds(8))
    #expect(wait(2) == .seconds(8))
    #expect(wait(-1) == .zero)
    #expect(wait(.nan) == .zero)
    #expect(wait(.infinity) == .seconds(8))
    let policy = RetryPolicy(attempts: 1000, delay: .constant(.seconds(8)), jitter: .full)
    let waits = waits(policy, atMost: 100)
    #expect(waits.allSatisfy { $0 >= .zero && $0 <= .seconds(8) })
    #expect(Set(waits).count > 10)
  }

  @Test("A decision's own delay has no jitter")
  func ownDelay() {
    let policy = RetryPolicy(attempts: 2, delay: .constant(.seconds(8)), jitter: .full { 0 }) {
      _, _ in .retry(after: .seconds(3))
    }
    #expect(waits(policy) == [.seconds(3)])
  }

  // MARK: Decisions

  @Test("The closure gets the error and the number of the attempt, and decides")
  func decisions() {
    let asked = Log<Int>()
    let policy = RetryPolicy(attempts: 9, delay: .constant(.seconds(1))) { error, attempt in
      asked.append(error as? TestError == .first ? attempt : -1)
      switch attempt {
      case 1: return .retry
      case 2: return .retry(after: .seconds(5))
      default: return .stop
      }
    }
    #expect(waits(policy) == [.seconds(1), .seconds(5)])
    #expect(asked.entries == [1, 2, 3])
    let picky = RetryPolicy(attempts: 9, retryIf: { $0 as? TestError == .second })
    #expect(picky.wait(after: TestError.first, ofAttempt: 1) == nil)
    #expect(picky.wait(after: TestError.second, ofAttempt: 1) == .zero)
  }

  @Test("The closure is not asked after the last attempt")
  func lastAttempt() {
    let asked = Counter()
    let policy = RetryPolicy(attempts: 2) { _, _ in
      asked.add()
      return .retry
    }
    #expect(waits(policy) == [.zero])
    #expect(asked.value == 1)
  }

  // MARK: Deadline

  @Test("No attempt begins after the deadline, and none that would is waited for")
  func deadline() {
    let clock = ManualClock()
    let run = RetryRun(
      RetryPolicy(
        attempts: 99, delay: .constant(.seconds(3)), deadline: .seconds(10), clock: clock))
    run.begin()
    clock.advance(by: .seconds(2))
    // (Only the first attempt begins the time.)
    run.begin()
    #expect(run.wait(after: TestError.first) == .seconds(3))
    clock.advance(by: .seconds(5))
    #expect(run.wait(after: TestError.first) == .seconds(3))
    clock.advance(by: .nanoseconds(1))
    #expect(run.wait(after: TestError.first) == nil)
    clock.advance(by: .seconds(Int64.max / 2))
    #expect(run.wait(after: TestError.first) == nil)
  }

  @Test("A deadline below zero allows no second attempt, and the longest one allows all")
  func extremeDeadlines() {
    for (deadline, expected): (Duration, Duration?) in [
      (.seconds(Int64.min), nil), (.seconds(-1), nil), (.seconds(Int64.max), .seconds(1)),
    ] {
      let clock = ManualClock()
      let run = RetryRun(
        RetryPolicy(
          attempts: 2, delay: .constant(.seconds(1)), deadline: deadline, clock: clock))
      run.begin()
      #expect(run.wait(after: TestError.first) == expected)
    }
  }

  // MARK: History

  @Test("The history has the count, the first 16 and the last 16 errors")
  func history() {
    struct Numbered: Error, Equatable { let number: Int }
    for count in [0, 1, 15, 16, 17, 31, 32, 33, 1_000] {
      let run = RetryRun(RetryPolicy(attempts: .max))
      for number in 0..<count { _ = run.wait(after: Numbered(number: number)) }
      #expect(run.history.count == count)
      #expect(run.attempt == count + 1)
      let first = run.history.first.compactMap { ($0 as? Numbered)?.number }
      let last = run.history.last.compactMap { ($0 as? Numbered)?.number }
      #expect(first == Array((0..<count).prefix(16)))
      #expect(last == Array((0..<count).suffix(16)))
    }
  }

  // MARK: Waiting

  @Test("A wait goes by the clock of the policy, and cancelling it wakes the sleeper")
  func pause() async {
    let clock = ManualClock()
    let run = RetryRun(RetryPolicy(attempts: 2, clock: clock))
    let pause = run.pause(for: .seconds(5))
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(4))
    #expect(clock.sleeping == 1 && !pause.isFinished)
    clock.advance(by: .seconds(1))
    #expect(await pause.completion.isSuccess)
    let cancelled = run.pause(for: .seconds(5))
    #expect(await eventually { clock.sleeping == 1 })
    cancelled.cancel()
    #expect(await eventually { clock.sleeping == 0 })
    #expect(clock.sleeps == [.seconds(5), .seconds(5)])
  }
}
