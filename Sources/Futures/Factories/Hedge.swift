/// Decides when attempts start, and what the result is.
///
///   open ── an attempt succeeds ─────────────────────────────▶ over
///     └──── no attempt is pending, and none may start ───────▶ over
///
/// After a cancelled attempt, no further attempt starts.
struct HedgeMachine {
  /// What the caller does after an event.
  enum Action {
    case wait
    /// Start this attempt; `isLast` if no other attempt may follow.
    case start(Int, isLast: Bool)
    /// Settle the result like the attempt that has just settled.
    case takeThis
    case fail([(any Error)?])
  }

  private let attempts: Int
  private var started = 0
  private var pending = 0
  private var errors: [Int: any Error] = [:]
  private var wasCancelled = false
  private var hasFailed = false
  private var isOver = false

  init(attempts: Int) { self.attempts = max(attempts, 1) }

  mutating func begin() -> Action { startNext() }

  /// The delay after an attempt has passed.
  mutating func timeIsUp(after attempt: Int) -> Action {
    attempt == started ? startNext() : .wait
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
    pending -= 1
    errors[attempt] = error
    if isCancelled { wasCancelled = true } else { hasFailed = true }
    let next = isCancelled ? .wait : startNext()
    if case .wait = next, pending == 0 {
      isOver = true
      guard hasFailed else { return .takeThis }
      return .fail((1...started).map { errors[$0] })
    }
    return next
  }

  private mutating func startNext() -> Action {
    guard !isOver, !wasCancelled, started < attempts else { return .wait }
    started += 1
    pending += 1
    return .start(started, isLast: started == attempts)
  }
}

/// Waits for attempts, and for the delay after each.
final class Hedge: OpenJoin, @unchecked Sendable {
  // Sendable: `machine` has a lock, the rest never changes.
  private let machine: Lock<HedgeMachine>
  private let delay: Duration
  private let clock: any Clock<Duration>
  private let makeAttempt: MakeAttempt

  /// Makes the future of an attempt, and calls back when the user's closure has returned.
  typealias MakeAttempt =
    @Sendable (_ attempt: Int, _ hasStarted: @escaping @Sendable () -> Void) -> AnyFuture

  init(
    _ target: AnyFuture, _ machine: HedgeMachine, after delay: Duration,
    _ clock: any Clock<Duration>, _ makeAttempt: @escaping MakeAttempt
  ) {
    self.machine = Lock(machine)
    self.delay = delay
    self.clock = clock
    self.makeAttempt = makeAttempt
    super.init(target)
  }

  /// Starts the first attempt.
  ///
  /// Attempts have positive indices; the delay after each has the negative index.
  func begin() {
    guard start() else { return }
    // The join handles an attempt that fails at once after this closure has returned.
    WorkLoop.current.perform { _ in perform(machine.withLock { $0.begin() }, nil) }
  }

  override func inputHasSettled(_ index: Int, _ source: AnyFuture) {
    let outcome = source.outcome
    let error = source.anyError
    let action = machine.withLock { machine -> HedgeMachine.Action in
      if index < 0 { return machine.timeIsUp(after: -index) }
      guard let error else { return machine.attemptHasSucceeded() }
      return machine.attemptHasFailed(index, error, isCancelled: outcome == .cancelled)
    }
    perform(action, source)
  }

  private func beginDelay(after attempt: Int) {
    if !target.isSettled { add(clock.pause(for: delay), at: -attempt) }
  }

  private func perform(_ action: HedgeMachine.Action, _ source: AnyFuture?) {
    switch action {
    case .wait: return
    case .start(let attempt, let isLast):
      guard !target.isSettled else { return }
      if attempt > 1 { remove(at: 1 - attempt) }
      // The delay begins when the closure of the attempt has returned. If it began here,
      // a short one could start the next attempt before the closure of this one runs.
      add(makeAttempt(attempt) { if !isLast { self.beginDelay(after: attempt) } }, at: attempt)
      return
    case .takeThis:
      if let source { target.settle(like: source, from: .upstream) }
    case .fail(let errors):
      target.settle(failure: ProperationsError.joining(errors), from: .upstream)
    }
    end(.asking)
  }
}
