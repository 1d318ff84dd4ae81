import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Retrying by a policy", .timeLimit(.minutes(5)), .oneAtATime)
struct RetryTests {
  private let queue = TaskQueue()

  /// Makes tasks that fail until the attempt of a number.
  private func makeTask(succeedingAt last: Int) -> @Sendable (Int) -> Sample<Int> {
    { attempt in attempt < last ? failing() : succeeding(attempt) }
  }

  // MARK: Attempts

  @Test("The task is the first attempt, and the closure makes the others, up to the total")
  func total() async {
    for attempts in [-1, 0, 1, 2, 3, 4] {
      let made = Log<Int>()
      let task = failing().retry(attempts: attempts) { attempt in
        made.append(attempt)
        return attempt < 3 ? failing() : succeeding(attempt)
      }
      queue.addTask(task)
      #expect(await task.outcome() == (attempts < 3 ? .provided : .success))
      #expect(made.entries == (attempts < 2 ? [] : attempts == 2 ? [2] : [2, 3]))
      #expect(task.retryHistory?.count == min(max(attempts, 1), 2))
    }
  }

  @Test("Tasks.retry with a number of attempts makes them all, and waits between them")
  func allOfANumber() async {
    for attempts in [-1, 1, 2, 3] {
      let made = Log<Int>()
      let task = Tasks.retry(attempts: attempts, delay: .constant(.milliseconds(1))) { attempt in
        made.append(attempt)
        return attempt < 3 ? failing() : succeeding(attempt)
      }
      queue.addTask(task)
      #expect(await task.outcome() == (attempts < 3 ? .provided : .success))
      #expect(made.entries == Array(1...max(attempts, 1)))
    }
  }

  @Test("Tasks.retry makes the first attempt, too, when it is in a queue")
  func fromNothing() async {
    let made = Log<Int>()
    let task = Tasks.retry(RetryPolicy(attempts: 5)) { attempt in
      made.append(attempt)
      return attempt < 3 ? failing() : succeeding(attempt)
    }
    #expect(made.entries == [])
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(task.success == 3)
    #expect(made.entries == [1, 2, 3])
    #expect(task.retryHistory?.count == 2)
    #expect(task.debugDescription.contains("RetryTests.swift"))
    let cancelled = Tasks.retry(RetryPolicy(attempts: 5)) { attempt -> Sample<Int> in
      made.append(attempt)
      return succeeding(attempt)
    }
    cancelled.cancel()
    queue.addTask(cancelled)
    #expect(await cancelled.outcome() == .cancelled)
    #expect(made.count == 3)
  }

  @Test("The final error stays itself, and the history is beside it")
  func finalError() async {
    let task = failing(with: .first).retry(attempts: 40) { attempt -> Sample<Int> in
      failing(with: attempt == 40 ? .second : .first)
    }
    #expect(task.retryHistory?.count == 0)
    queue.addTask(task)
    #expect(await task.outcome() == .provided)
    #expect(task.provided == .second)
    let history = task.retryHistory
    #expect(history?.count == 40)
    #expect(history?.first.compactMap { $0 as? TestError } == Array(repeating: .first, count: 16))
    #expect(
      history?.last.compactMap { $0 as? TestError }
        == Array(repeating: .first, count: 15) + [.second])
    #expect(failing().retryHistory == nil)
    #expect(task.map { $0 }.retryHistory == nil)
  }

  @Test("A success has no errors, and the closure is not asked")
  func success() async {
    let task = succeeding(1).retry(attempts: 3) { _ -> Sample<Int> in
      Issue.record("asked")
      return succeeding(2)
    }
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(task.success == 1)
    #expect(task.retryHistory?.count == 0)
  }

  // MARK: What is tried again

  @Test("Unmet conditions and timeouts are tried again; the policy gets their own errors")
  func internalErrors() async {
    let seen = Log<String>()
    let policy = RetryPolicy(attempts: 4) { error, attempt in
      seen.append("\(attempt) \(error)")
      return .retry
    }
    let unmet = succeeding(0).addCondition(Unmet(error: .second)).addCondition(Unmet(error: .first))
    let task = unmet.retry(policy) { attempt -> ProducerTask<Int, TestError> in
      switch attempt {
      case 2: Manual<Int>().addObserver(.timeout(.milliseconds(1)))
      case 3: failing()
      default: succeeding(attempt)
      }
    }
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(task.success == 4)
    let timeout = ProducerTaskError.timedOut(after: .milliseconds(1))
    #expect(seen.entries == ["1 second", "2 \(timeout)", "3 first"])
    #expect(task.retryHistory?.first.first as? TestError == .second)
  }

  @Test("Other internal errors and cancellations are the result at once")
  func finalErrors() async {
    let policy = RetryPolicy(attempts: 4) { error, _ in
      Issue.record("asked about \(error)")
      return .retry
    }
    let inner = broken().retry(policy) { _ in succeeding(1) }
    let none = succeeding(1).filter { _ in false }.retry(policy) { _ in succeeding(1) }
    let cancelled = Sample<Int> { _, finish in
      finish(.failure(.internal(ProducerTaskError.cancelled)))
    }.retry(policy) { _ in succeeding(1) }
    queue.addAll([inner, none, cancelled])
    #expect(await inner.outcome() == .otherInternal)
    #expect(await none.outcome() == .nilOutput)
    #expect(await cancelled.outcome() == .cancelled)
    #expect(inner.retryHistory?.count == 1)
    #expect(cancelled.retryHistory?.count == 0)
  }

  @Test("The policy stops where it says so")
  func stop() async {
    let policy = RetryPolicy(attempts: 9, retryIf: { $0 as? TestError == .first })
    let task = failing(with: .first).retry(policy) { _ -> Sample<Int> in failing(with: .second) }
    queue.addTask(task)
    #expect(await task.outcome() == .provided)
    #expect(task.provided == .second)
    #expect(task.retryHistory?.count == 2)
  }

  // MARK: Waiting

  @Test("Attempts wait as long as the policy says, by its clock, and hold no slot meanwhile")
  func delays() async {
    let clock = ManualClock()
    let policy = RetryPolicy(attempts: 4, delay: .exponential(.seconds(1)), clock: clock)
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let task = failing().retry(policy, makeTask(succeedingAt: 4))
    queue.addTask(task)
    for wait in [Duration.seconds(1), .seconds(2), .seconds(4)] {
      #expect(await eventually { clock.sleeping == 1 })
      let other = succeeding(1)
      queue.addTask(other)
      #expect(await other.outcome() == .success)
      #expect(!task.isFinished)
      clock.advance(by: wait)
    }
    #expect(await task.outcome() == .success)
    #expect(clock.sleeps == [.seconds(1), .seconds(2), .seconds(4)])
  }

  @Test("Cancelling during a wait ends the task at once, and leaves no sleeper and no timer")
  func cancelling() async {
    let clock = ManualClock()
    let tracker = LifetimeTracker()
    for isManual in [true, false] {
      let object = tracker.make()
      let policy = RetryPolicy(
        attempts: 4, delay: .constant(.seconds(1000)),
        clock: isManual ? clock : ContinuousClock())
      let task = failing().retry(policy) { attempt -> Sample<Int> in
        object.touch()
        return succeeding(attempt)
      }
      queue.addTask(task)
      #expect(await eventually { task.retryHistory?.count == 1 })
      if isManual { #expect(await eventually { clock.sleeping == 1 }) }
      task.cancel()
      #expect(task.kind == .cancelled)
      #expect(task.retryHistory?.count == 1)
    }
    #expect(await eventually { clock.sleeping == 0 })
    await queue.finished()
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test("Cancelling while an attempt runs cancels the attempt")
  func cancellingAttempt() async {
    let attempt = Manual<Int>()
    let task = failing().retry(attempts: 3) { _ in attempt }
    queue.addTask(task)
    await attempt.started.opened()
    task.cancel()
    #expect(task.kind == .cancelled)
    #expect(await eventually { attempt.isCancelled })
    attempt.finish(with: .failure(.provided(.first)))
    await queue.finished()
  }

  @Test("The deadline counts from the moment when the task is in a queue")
  func deadline() async {
    let clock = ManualClock()
    let policy = RetryPolicy(
      attempts: 9, delay: .constant(.seconds(3)), deadline: .seconds(5), clock: clock)
    let task = failing().retry(policy) { _ in failing() }
    clock.advance(by: .seconds(1000))
    queue.addTask(task)
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .seconds(3))
    #expect(await task.outcome() == .provided)
    #expect(task.retryHistory?.count == 2)
  }

  // MARK: Growth

  @Test("No attempt remains when the next one begins, and many need no stack")
  func manyAttempts() async throws {
    let tracker = LifetimeTracker()
    let most = Box(0)
    let count = 20_000
    let done = Event()
    try await SmallStackThread.running {
      let first: ProducerTask<Int, TestError> = Tasks.fail(.first)
      let task = first.retry(attempts: count) { _ -> ProducerTask<Int, TestError> in
        let object = tracker.make()
        most.value = max(most.value, tracker.alive)
        let attempt: ProducerTask<Int, TestError> = Tasks.fail(.first)
        return attempt.receive { _ in object.touch() }
      }
      task.receive { _ in done.signal() }
      TaskQueue().addTask(task)
    }
    #expect(await done.opened())
    #expect(most.value < 10)
    #expect(await eventually { tracker.alive == 0 })
  }

  enum End: CaseIterable { case success, failure, cancelledInTheWait, cancelledBefore, neverAdded }

  @Test(
    "A finished retry keeps its history, and nothing that its closures captured",
    arguments: End.allCases)
  func closuresAreReleased(end: End) async {
    let (tracker, clock) = (LifetimeTracker(), ManualClock())
    func makeTasks(_ object: Tracked) -> [ProducerTask<Int, TestError>] {
      let policy = RetryPolicy(
        attempts: 2, delay: end == .cancelledInTheWait ? .constant(.seconds(1)) : .none,
        clock: clock
      ) { _ in
        object.touch()
        return true
      }
      let makeTask = { @Sendable (_ attempt: Int) -> Sample<Int> in
        object.touch()
        return attempt == 2 && end == .success ? succeeding(2) : failing()
      }
      return [failing().retry(policy, makeTask), Tasks.retry(policy, makeTask)]
    }
    let tasks = makeTasks(tracker.make())
    for task in tasks {
      if end == .cancelledBefore || end == .neverAdded { task.cancel() }
      if end != .neverAdded { queue.addTask(task) }
      if end == .cancelledInTheWait {
        #expect(await eventually { clock.sleeping == 1 })
        task.cancel()
      }
      let (outcome, failures): (Kind, Int) =
        switch end {
        case .success: (.success, 1)
        case .failure: (.provided, 2)
        case .cancelledInTheWait: (.cancelled, 1)
        case .cancelledBefore, .neverAdded: (.cancelled, 0)
        }
      #expect(await task.outcome() == outcome)
      #expect(task.retryHistory?.count == failures)
    }
    #expect(await eventually { tracker.alive == 0 })
    withExtendedLifetime(tasks) {}
  }

  // MARK: Between tasks that can fail and tasks that cannot

  @Test("flatMap, zip, retry and catch(from:) mix tasks that can fail with tasks that cannot")
  func neverFailing() async {
    let number = NonFailBlockProducerTask<Int> { _, finish in finish(.success(1)) }
    let some: ProducerTask<Int, TestError> = succeeding(2)
    let mapped: ProducerTask<Int, TestError> = number.flatMap { value in succeeding(value + 2) }
    let failed: ProducerTask<Int, TestError> = number.flatMap { _ in failing() }
    let back: ProducerTask<Int, TestError> = some.flatMap { value in
      NonFailBlockProducerTask<Int> { _, finish in finish(.success(value + 2)) }
    }
    let never: NonFailProducerTask<Int> = number.flatMap { Tasks.just($0 + 9) }
    queue.addAll([mapped, failed, back, never])
    #expect(await mapped.outcome() == .success && mapped.success == 3)
    #expect(await failed.outcome() == .provided)
    #expect(await back.outcome() == .success && back.success == 4)
    #expect(await never.outcome() == .success && never.success == 10)

    let both = number.zip(some)
    let other = some.zip(number, Tasks.just("x"))
    let wrong = number.zip(failing())
    let lost = failing().zip(number)
    queue.addAll([both, other, wrong, lost])
    #expect(await both.outcome() == .success)
    #expect(both.success.map { $0 == (1, 2) } == true)
    #expect(await other.outcome() == .success)
    #expect(other.success.map { $0 == (2, 1, "x") } == true)
    #expect(await wrong.outcome() == .provided)
    #expect(await lost.outcome() == .provided)

    let again: ProducerTask<Int, TestError> = failing().retry(attempts: 2) { Tasks.just($0) }
    let policed = failing().retry(RetryPolicy(attempts: 2)) { Tasks.just($0) }
    let unmet = NonFailBlockProducerTask<Int> { _, finish in finish(.success(1)) }
      .addCondition(Unmet(error: .second))
    let unmetAgain = unmet.retry(RetryPolicy(attempts: 2)) { succeeding($0) }
    queue.addAll([again, policed, unmetAgain])
    #expect(await again.outcome() == .success && again.success == 2)
    #expect(await policed.outcome() == .success)
    #expect(await unmetAgain.outcome() == .success && unmetAgain.success == 2)
  }

  @Test("An internal error of a task that cannot fail is the same error behind the operators")
  func neverFailingErrors() async {
    @Sendable func unmet() -> NonFailProducerTask<Int> {
      NonFailBlockProducerTask<Int> { _, finish in finish(.success(1)) }
        .addCondition(Unmet(error: .second))
    }
    let stages: [ProducerTask<Int, TestError>] = [
      unmet().flatMap { succeeding($0) },
      succeeding(1).flatMap { _ in unmet() },
      unmet().zip(succeeding(1)).map { $0 + $1 },
      succeeding(1).zip(unmet()).map { $0 + $1 },
      failing().retry(attempts: 2) { _ in unmet() },
      failing().catch(from: TestError.self) { _ in unmet() },
    ]
    queue.addAll(stages)
    for stage in stages {
      #expect(await stage.outcome() == .conditions)
      guard case .failure(let error) = stage.produced else { continue }
      #expect(error.conditionErrors.map { $0 as? TestError } == [.second])
    }
    let cancelled = unmet()
    let below: ProducerTask<Int, TestError> = cancelled.flatMap { succeeding($0) }
    below.cancel()
    queue.addTask(below)
    #expect(below.kind == .cancelled)
  }

  // MARK: Errors of a type

  @Test("catch(from:) takes provided errors, those of conditions and those of the library")
  func catchFrom() async {
    func caught(_ task: ProducerTask<Int, TestError>) -> ProducerTask<Int, TestError> {
      task.catch(from: TestError.self) { Tasks.just($0 == .first ? 100 : 200) }
    }
    let provided = caught(failing(with: .first))
    let unmet = caught(
      succeeding(1).addCondition(BlockCondition { _ in false }).addCondition(Unmet(error: .second)))
    let passing = caught(succeeding(1))
    let other = caught(broken())
    let cancelled = caught(succeeding(1))
    cancelled.cancel()
    let timeout = Manual<Int>().addObserver(.timeout(.milliseconds(1)))
      .catch(from: ProducerTaskError.self) { error -> Sample<Int> in
        if case .timedOut = error { succeeding(300) } else { failing() }
      }
    func any(_ task: ProducerTask<Int, TestError>) -> ProducerTask<Int, TestError> {
      task.catch(from: (any Error).self) { error in Tasks.just(error is InnerError ? 400 : 500) }
    }
    let (anything, anyCancelled) = (any(broken()), any(succeeding(1)))
    anyCancelled.cancel()
    #expect(anyCancelled.kind == .cancelled)
    queue.addAll([provided, unmet, passing, other, timeout, anything])
    #expect(await anything.outcome() == .success && anything.success == 400)
    #expect(await provided.outcome() == .success && provided.success == 100)
    #expect(await unmet.outcome() == .success && unmet.success == 200)
    #expect(await passing.outcome() == .success && passing.success == 1)
    #expect(await other.outcome() == .otherInternal)
    #expect(cancelled.kind == .cancelled)
    #expect(await timeout.outcome() == .success && timeout.success == 300)
  }

  @Test("A future made of a task recovers from the error of a condition")
  func recoverFrom() async throws {
    let task = succeeding(1).addCondition(Unmet(error: .second))
    let future = task.recover(on: .inline, from: TestError.self) { $0 == .second ? 7 : 0 }
    queue.addTask(task)
    #expect(try await future.value == 7)
    guard case .failure(let error) = task.produced else {
      Issue.record("it has succeeded")
      return
    }
    #expect(error.conditionErrors.map { $0 as? TestError } == [.second])
    #expect(ProducerTaskError.cancelled.conditionErrors.isEmpty)
    #expect(ProducerTaskProtocolError<TestError>.provided(.first).conditionErrors.isEmpty)
  }

  @Test("recovering from a type of error takes the error that a typed task fails with")
  func recoverFromProvidedError() async throws {
    let queue = TaskQueue()
    let (provided, inside, other) = (failing(Int.self, with: .second), broken(), failing(Int.self))
    for task in [provided, inside, other] { queue.addTask(task) }
    let recovered = provided.recover(on: .inline, from: TestError.self) { error in
      error == .second ? 2 : 0
    }
    #expect(try await recovered.value == 2)
    #expect(try await inside.recover(on: .inline, from: InnerError.self) { _ in 3 }.value == 3)
    await #expect(throws: ProducerTaskProtocolError<TestError>.provided(.first)) {
      try await other.recover(on: .inline, from: CocoaError.self) { _ in 4 }.value
    }
  }

  @Test("104. A retry without hope ends with the error at once")
  func hopelessRetry() async {
    let (asked, made) = (Counter(), Counter())
    let task = failing(Int.self, with: .second)
      .retry(
        3, delay: .seconds(1000),
        if: {
          asked.add(); return $0 == .first
        }
      ) { _ in
        made.add()
        return succeeding(1)
      }
    queue.addTask(task)
    _ = await task.completion
    #expect(task.produced?.failure == .provided(.second))
    #expect(asked.value == 1)
    #expect(made.value == 0)
  }

  @Test("104. The delay of a retry holds back all of the chain that is made")
  func retryWithChain() async {
    let (made, executed) = (Counter(), Counter())
    let task = failing(Int.self).retry(1, delay: .seconds(1000)) { _ in
      made.add()
      return Sample<Int> { _, finish in
        executed.add()
        finish(.success(1))
      }
      .map { $0 }
    }
    queue.addTask(task)
    let slow = failing(Int.self).retry(1, delay: .milliseconds(50)) { _ in succeeding(2) }
    queue.addTask(slow)
    _ = await slow.completion
    #expect(slow.produced?.failure == nil)
    #expect((made.value, executed.value) == (0, 0))
    task.cancel()
    _ = await task.completion
    #expect(task.kind == .cancelled)
  }

  @Test("104. A retry goes on as long as there is hope")
  func hopefulRetry() async {
    let made = Counter()
    let task = failing(Int.self, with: .first)
      .retry(9, if: { $0 == .first }) { _ in
        made.add()
        return failing(Int.self, with: made.value < 3 ? .first : .second)
      }
    queue.addTask(task)
    _ = await task.completion
    #expect(task.produced?.failure == .provided(.second))
    #expect(made.value == 3)
  }
}

extension Result {
  fileprivate var failure: Failure? {
    guard case .failure(let error) = self else { return nil }
    return error
  }
}
