/// Decides when attempts start, and what the result is.
///
///   open ── an attempt succeeds ─────────────────────────────▶ over
///     └──── no attempt is pending, and none may start ───────▶ over
///
/// After a cancelled attempt, and after one that the budget has refused, no further attempt
/// starts.
struct HedgeMachine {
  /// What the caller does after an event.
  enum Action {
    case wait
    /// Start this attempt; `isLast` if no other attempt may follow.
    case start(Int, isLast: Bool)
    /// Settle the result like the attempt that has just succeeded.
    case takeThis
    /// Settle the result as cancelled, with the error of a cancelled attempt.
    case cancel(any Error)
    case fail([(any Error)?])
  }

  private var attempts: Int
  private var started = 0
  private var pending = 0
  private var errors: [Int: any Error] = [:]
  /// The error of the first cancelled attempt.
  private var cancellation: (any Error)?
  private var hasFailed = false
  /// The attempts that were to start and were not in the budget.
  private var refused: Set<Int> = []
  private var isOver = false

  init(attempts: Int) { self.attempts = max(attempts, 1) }

  mutating func begin() -> Action { startNext() }

  /// The delay after an attempt has passed.
  mutating func timeIsUp(after attempt: Int) -> Action {
    attempt == started ? startNext() : .wait
  }

  /// An attempt that was to start is not in the budget.
  mutating func attemptWasRefused(_ attempt: Int) -> Action {
    refused.insert(attempt)
    // Another thread may be about to start the next one.
    attempts = started
    return attemptHasEnded()
  }

  mutating func attemptHasSucceeded() -> Action {
    guard !isOver else { return .wait }
    isOver = true
    return .takeThis
  }

  mutating func attemptHasFailed(
    _ attempt: Int, _ error: any Error, isCancelled: Bool
  ) -> Action {
    guard !isOver else { return .wait }
    errors[attempt] = error
    if !isCancelled { hasFailed = true } else if cancellation == nil { cancellation = error }
    let next = isCancelled ? .wait : startNext()
    if case .start = next {
      pending -= 1
      return next
    }
    return attemptHasEnded()
  }

  /// An attempt is not pending any more, and no other one starts in its place.
  private mutating func attemptHasEnded() -> Action {
    guard !isOver else { return .wait }
    pending -= 1
    guard pending == 0 else { return .wait }
    isOver = true
    if !hasFailed, let cancellation { return .cancel(cancellation) }
    return .fail((1...started).filter { !refused.contains($0) }.map { errors[$0] })
  }

  private mutating func startNext() -> Action {
    guard !isOver, cancellation == nil, started < attempts else { return .wait }
    started += 1
    pending += 1
    return .start(started, isLast: started == attempts)
  }
}

/// Waits for attempts, and for the delay after each.
final class Hedge: Join, @unchecked Sendable {
  // Sendable: `machine` has a lock, the rest never changes.
  private let machine: Lock<HedgeMachine>
  private let delay: Duration
  private let budget: RetryBudget?
  private let clock: any Clock<Duration>
  private let makeAttempt: MakeAttempt

  /// Makes the future of an attempt, and calls back when the user's closure has returned.
  typealias MakeAttempt =
    @Sendable (_ attempt: Int, _ hasStarted: @escaping @Sendable () -> Void) -> AnyFuture

  init(
    _ target: AnyFuture, _ machine: HedgeMachine, after delay: Duration,
    _ budget: RetryBudget?, _ clock: any Clock<Duration>, _ makeAttempt: @escaping MakeAttempt
  ) {
    self.machine = Lock(machine)
    self.delay = delay
    self.budget = budget
    self.clock = clock
    self.makeAttempt = makeAttempt
    super.init(target)
  }

  /// The input for an attempt.
  private static func index(of attempt: Int) -> Int { attempt * 2 }

  /// The input for the delay after an attempt.
  private static func index(ofDelayAfter attempt: Int) -> Int { attempt * 2 + 1 }

  /// Starts the first attempt.
  func begin() {
    guard start() else { return }
    budget?.addWork()
    // The join handles an attempt that fails at once after this closure has returned.
    WorkLoop.current.perform { _ in perform(machine.withLock { $0.begin() }, nil) }
  }

  override func inputHasSettled(_ index: Int, _ source: AnyFuture, isLast: Bool) {
    let outcome = source.outcome
    let error = source.errorToJoin
    let action = machine.withLock { machine -> HedgeMachine.Action in
      let attempt = index / 2
      if index == Self.index(ofDelayAfter: attempt) { return machine.timeIsUp(after: attempt) }
      guard let error else { return machine.attemptHasSucceeded() }
      return machine.attemptHasFailed(attempt, error, isCancelled: outcome == .cancelled)
    }
    perform(action, source)
  }

  override var needsOnlyOne: Bool { true }

  override var progressParts: ProgressParts? {
    let all = inputs
    let attempts = stride(from: Self.index(of: 1), to: all.count, by: 2).compactMap { all[$0] }
    return ProgressParts(furthest: 1, of: attempts, mayGrow: true, mark: self)
  }

  private func beginDelay(after attempt: Int) {
    if !target.isSettled {
      add(Promises.delay(for: delay, clock: clock), at: Self.index(ofDelayAfter: attempt))
    }
  }

  private func perform(_ action: HedgeMachine.Action, _ source: AnyFuture?) {
    switch action {
    case .wait: return
    case .start(let attempt, let isLast):
      guard !target.isSettled else { return }
      if attempt > 1, budget?.takeAttempt() == false {
        return perform(machine.withLock { $0.attemptWasRefused(attempt) }, source)
      }
      if attempt > 1 { remove(at: Self.index(ofDelayAfter: attempt - 1)) }
      // The delay begins when the closure of the attempt has returned. If it began here,
      // a short one could start the next attempt before the closure of this one runs.
      let future = makeAttempt(attempt) { if !isLast { self.beginDelay(after: attempt) } }
      add(future, at: Self.index(of: attempt))
      target.wakeProgressWatches()
      return
    case .takeThis:
      if let source { target.settle(like: source, from: .upstream) }
    case .cancel(let error): target.settle(failure: error, from: .upstream)
    case .fail(let errors):
      target.settle(failure: JoinedErrors(errors), from: .upstream)
    }
    end(.asking)
  }
}
