import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("Promises.hedge", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesHedgingTests {
  private let clock = ManualClock()
  private let promises = (0..<5).map { _ in Promise<Int>() }
  private let started = Log<Int>()

  private func hedge(
    attempts: Int, after delay: Duration = .seconds(1), on context: some ExecutionContext = .inline
  ) -> Future<Int> {
    Promises.hedge(after: delay, attempts: attempts, clock: clock, on: context) { attempt in
      started.append(attempt)
      return promises[attempt - 1]
    }
  }

  /// Advances the clock after the delay of an attempt has begun.
  private func passTime(_ duration: Duration = .seconds(1)) async {
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: duration)
  }

  @Test func `one attempt starts at once, and another each time that one takes long`() async {
    let future = hedge(attempts: 3)
    #expect(started.entries == [1])
    await passTime()
    #expect(await eventually { started.entries == [1, 2] })
    await passTime(.milliseconds(999))
    #expect(started.entries == [1, 2])
    await passTime(.milliseconds(1))
    #expect(await eventually { started.entries == [1, 2, 3] })
    promises[1].succeed(with: 2)
    #expect(await eventually { future.result?.successValue == 2 })
    #expect(await eventually { promises[0].isCancelled && promises[2].isCancelled })
    #expect(await eventually { clock.sleeping == 0 })
  }

  @Test func `a success in time starts nothing else, and releases the timer`() async {
    let future = hedge(attempts: 3)
    #expect(await eventually { clock.sleeping == 1 })
    promises[0].succeed(with: 1)
    #expect(future.result?.successValue == 1)
    #expect(await eventually { clock.sleeping == 0 })
    #expect(started.entries == [1])
  }

  @Test func `a failure starts the next attempt at once, with a time of its own`() async {
    let future = hedge(attempts: 3)
    #expect(await eventually { clock.sleeping == 1 })
    promises[0].fail(with: TestError.first)
    #expect(started.entries == [1, 2])
    #expect(await eventually { clock.sleeps.count == 2 && clock.sleeping == 1 })
    await passTime()
    #expect(await eventually { started.entries == [1, 2, 3] })
    promises[2].succeed(with: 3)
    #expect(await eventually { future.result?.successValue == 3 })
  }

  @Test func `if all fail the errors come in the order of the attempts`() {
    let future = hedge(attempts: 3)
    promises[0].fail(with: TestError.numbered(1))
    promises[1].fail(with: TestError.numbered(2))
    #expect(!future.isFulfilled)
    promises[2].fail(with: TestError.numbered(3))
    #expect(
      future.error as? ProperationsError
        == .multipleErrors([
          TestError.numbered(1), TestError.numbered(2), TestError.numbered(3),
        ]))
  }

  @Test func `a failure while another attempt is pending is made up for by that`() async {
    let future = hedge(attempts: 2)
    await passTime()
    #expect(await eventually { started.count == 2 })
    promises[1].fail(with: TestError.first)
    #expect(!future.isFulfilled)
    promises[0].succeed(with: 1)
    #expect(await eventually { future.result?.successValue == 1 })
  }

  @Test(arguments: [1, 0, -1, Int.min])
  func `less than two attempts are one`(_ attempts: Int) {
    let future = hedge(attempts: attempts)
    promises[0].fail(with: TestError.first)
    #expect(future.error as? ProperationsError == .multipleErrors([TestError.first]))
    #expect(started.entries == [1])
    #expect(clock.sleeps.isEmpty)
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
  func `a time that has passed starts all attempts`(_ delay: Duration) async throws {
    let future = Promises.hedge(after: delay, attempts: 3, on: .inline) { attempt in
      started.append(attempt)
      return promises[attempt - 1]
    }
    #expect(await eventually { started.entries == [1, 2, 3] })
    promises[0].succeed(with: 1)
    #expect(try await future.value == 1)
  }

  @Test func `without a delay inline attempts start one after the other`() async throws {
    for _ in 0..<2_000 {
      let started = Log<Int>()
      let last = Promise<Int>()
      let future = Promises.hedge(after: .zero, attempts: 3, on: .inline) { attempt in
        started.append(attempt)
        if attempt == 3 { last.succeed(with: 3) }
        return last
      }
      #expect(try await future.value == 3)
      #expect(started.entries == [1, 2, 3])
    }
  }

  @Test func `a time that never comes starts one attempt only`() async {
    let future = hedge(attempts: 2, after: .seconds(Int64.max))
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(1_000_000))
    promises[0].succeed(with: 1)
    #expect(future.result?.successValue == 1)
    #expect(started.entries == [1])
  }

  @Test func `a closure that throws counts as a failed attempt`() {
    let future = Promises.hedge(after: .seconds(1), attempts: 2, clock: clock, on: .inline) {
      attempt in
      if attempt == 1 { throw TestError.first }
      return Promises.makeSucceeded(with: attempt)
    }
    #expect(future.result?.successValue == 2)
  }

  @Test func `cancelling it cancels all attempts and the timer, and none starts`() async {
    let future = hedge(attempts: 3)
    await passTime()
    #expect(await eventually { started.count == 2 && clock.sleeping == 1 })
    future.cancel()
    #expect(promises[0].isCancelled && promises[1].isCancelled)
    #expect(await eventually { clock.sleeping == 0 })
    #expect(started.count == 2)
  }

  @Test func `a cancelled attempt is not replaced, and the others go on`() async {
    let future = hedge(attempts: 3)
    await passTime()
    #expect(await eventually { started.count == 2 })
    promises[0].cancel()
    #expect(!future.isFulfilled)
    await passTime()
    promises[1].succeed(with: 2)
    #expect(await eventually { future.result?.successValue == 2 })
    #expect(started.count == 2)
    let alone = Promises.hedge(after: .seconds(1), attempts: 9, clock: clock, on: .inline) {
      _ -> Future<Int> in throw CancellationError()
    }
    #expect(alone.isCancelled)
  }

  @Test func `losers with other consumers go on`() {
    let other = promises[0].mapToValue(on: .inline) { $0 }
    let future = hedge(attempts: 2)
    let failing = promises[1].mapToValue(on: .inline) { $0 }
    failing.onFailure(on: .inline) { _ in }
    future.cancel()
    #expect(!promises[0].isFulfilled)
    withExtendedLifetime(other) {}
  }

  @Test @MainActor func `without a context the attempts start on the main actor`() async throws {
    var attempts: [Int] = []
    let future = Promises.hedge(after: .seconds(600), attempts: 3) { attempt in
      MainActor.preconditionIsolated()
      attempts.append(attempt)
      if attempt < 3 { throw TestError.first }
      return Promises.makeSucceeded(with: attempt)
    }
    #expect(try await future.value == 3)
    #expect(attempts == [1, 2, 3])
  }

  @Test func `an attempt that waits for the whole fails with cycle, and hangs nothing`() {
    let whole = Box<Future<Int>?>(nil)
    let future = Promises.hedge(after: .seconds(1), attempts: 2, clock: clock, on: .inline) {
      attempt in
      attempt == 1 ? promises[0] : whole.value ?? promises[1]
    }
    whole.value = future
    promises[0].fail(with: TestError.first)
    whole.value = nil
    guard case .multipleErrors(let errors)? = future.error as? ProperationsError,
      errors.count == 2, errors[0] as? TestError == .first,
      case .cycle? = errors[1] as? ProperationsError
    else {
      Issue.record("\(future)")
      return
    }
  }

  @Test func `100,000 attempts that fail at once need no stack, and nothing is kept`()
    async throws
  {
    let tracker = LifetimeTracker()
    let count = 100_000
    let clock = clock
    let errors = try await SmallStackThread.running(within: .seconds(280)) { () -> Int? in
      let object = tracker.make()
      let future = Promises.hedge(
        after: .seconds(1), attempts: count, clock: clock, on: .inline
      ) { _ -> Future<Int> in
        object.touch()
        throw TestError.first
      }
      guard case .multipleErrors(let errors)? = future.error as? ProperationsError else {
        return nil
      }
      return errors.count
    }
    #expect(errors == count)
    #expect(await eventually { tracker.alive == 0 && clock.sleeping == 0 })
  }

  @Test func `success, failure and cancellation race: it always settles`() async {
    let stuck = Counter()
    let isDone = await RaceHarness(threads: 3, rounds: 2_000).run { _ in
      let promises = (0..<2).map { _ in Promise<Int>() }
      let future = Promises.hedge(after: .zero, attempts: 2, on: .inline) { promises[$0 - 1] }
      return (promises, future)
    } act: { subject, index in
      switch index {
      case 0: subject.0[0].fail(with: TestError.first)
      case 1: subject.0[1].succeed(with: 2)
      default: subject.1.cancel()
      }
    } check: { subject, _ in
      if !subject.1.isFinished { stuck.add() }
    }
    #expect(isDone)
    #expect(stuck.value == 0)
  }
}

@Suite("The machine of hedging", .timeLimit(.minutes(5)), .oneAtATime)
struct HedgeMachineTests {
  @Test func `a time that has passed for an earlier attempt starts nothing`() {
    var machine = HedgeMachine(attempts: 3)
    guard case .start(1, isLast: false) = machine.begin(),
      case .start(2, isLast: false) = machine.attemptHasFailed(
        1, TestError.first, isCancelled: false),
      case .wait = machine.timeIsUp(after: 1),
      case .start(3, isLast: true) = machine.timeIsUp(after: 2),
      case .wait = machine.timeIsUp(after: 3),
      case .takeThis = machine.attemptHasSucceeded(),
      case .wait = machine.attemptHasSucceeded(),
      case .wait = machine.attemptHasFailed(2, TestError.first, isCancelled: false)
    else {
      Issue.record("\(machine)")
      return
    }
  }

  @Test func `failures around a cancellation are reported by attempt`() {
    var machine = HedgeMachine(attempts: 9)
    _ = machine.begin()
    _ = machine.timeIsUp(after: 1)
    _ = machine.attemptHasFailed(2, ProperationsError.cancelled, isCancelled: true)
    guard
      case .fail(let errors) = machine.attemptHasFailed(
        1, TestError.first, isCancelled: false)
    else {
      Issue.record("\(machine)")
      return
    }
    #expect(errors.count == 2 && errors[0] as? TestError == .first && errors[1] != nil)
  }
}
