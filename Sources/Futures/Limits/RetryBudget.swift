/// Limits the further attempts that many pieces of work make together.
///
/// A retry policy limits the attempts of one piece of work. When a server fails, each of a
/// thousand requests still makes its attempts, and the server gets several times its load
/// when it can bear the least. Requests that share a budget stop trying again when too many
/// of them do:
///
/// ```swift
/// let budget = RetryBudget(ratio: 0.2)
/// let policy = RetryPolicy(attempts: 4, delay: .exponential(.milliseconds(200)), budget: budget)
/// let page = Promises.retry(policy, on: .global()) { attempt in fetch(url) }
/// let file = Promises.hedge(after: .seconds(1), budget: budget, on: .global()) { _ in fetch(big) }
/// ```
///
/// Each piece of work that begins adds to the budget, each further attempt takes from it:
/// within the window, there is at most one further attempt for every `1 / ratio` pieces of
/// work, and a reserve for programs with little work. If the budget is used up, no further
/// attempt is made: the error of the last attempt is the result. A further attempt that is
/// cancelled in the pause before it has taken from the budget.
///
/// Futures, typed tasks and workflows use budgets through their ``RetryPolicy``;
/// ``Promises/hedge(after:attempts:budget:clock:on:fileID:line:_:)`` takes one itself.
///
/// Every operation takes the same time, however much was counted. The idea comes from the
/// retry budgets of Finagle.
public final class RetryBudget: Sendable {
  private let counts: Lock<AttemptCounts>
  private let clock: SteadyClock

  /// Makes a budget.
  ///
  /// No argument overflows or traps.
  ///
  /// - Parameters:
  ///   - ratio: The number of further attempts for each piece of work. A negative number, or
  ///     one that is not a number, counts as zero.
  ///   - minimumPerSecond: The number of further attempts in each second, on average over the
  ///     window, that are allowed without any work: the reserve. It counts in whole attempts
  ///     for each window, so less than one in a window is none. A negative number, or one that
  ///     is not a number, counts as zero.
  ///   - window: How long work and attempts are counted; from a millisecond to a century. They
  ///     are forgotten in tenths of the window: each counts for at least nine tenths of it,
  ///     and for no more than the whole.
  ///   - clock: Measures the window. Tests can pass a clock of their own. A clock that is set
  ///     back counts as a clock that stands still.
  public init(
    ratio: Double = 0.2, minimumPerSecond: Double = 10, window: Duration = .seconds(10),
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    counts = Lock(AttemptCounts(ratio: ratio, minimumPerSecond: minimumPerSecond, window: window))
    self.clock = SteadyClock(clock)
  }

  /// The number of further attempts that are allowed now.
  public var available: Int {
    let now = clock.now
    return counts.withLock { $0.available(at: now) }
  }

  /// Counts a piece of work that begins its first attempt.
  package func addWork() {
    let now = clock.now
    counts.withLock { $0.addWork(at: now) }
  }

  /// Takes a further attempt from the budget; `false` if it is used up.
  package func takeAttempt() -> Bool {
    let now = clock.now
    return counts.withLock { $0.takeAttempt(at: now) }
  }
}

/// Counts work and further attempts of the last while, as a pure value.
///
/// The window is divided into slots. A slot whose time has passed is emptied as a whole, so
/// counting takes the same time and memory however much is counted.
struct AttemptCounts {
  private static let slotCount: Int64 = 10

  private struct Slot {
    var work = 0
    var attempts = 0
  }

  private let ratio: Double
  private let reserve: Double
  private let slotLength: Duration
  private var slots = Array(repeating: Slot(), count: Int(slotCount))
  private var total = Slot()
  /// The number of the slot of the latest time, counted from time zero.
  private var latest: Int64 = 0

  init(ratio: Double, minimumPerSecond: Double, window: Duration) {
    let window = max(window.clamped, .milliseconds(1))
    // A comparison with what is not a number is false.
    self.ratio = ratio > 0 ? ratio : 0
    reserve = minimumPerSecond > 0 ? minimumPerSecond * (window / .seconds(1)) : 0
    slotLength = window / Int(Self.slotCount)
  }

  mutating func available(at time: Duration) -> Int {
    move(to: time)
    // Without work, an infinite ratio gives what is not a number.
    let earned = total.work == 0 ? 0 : ratio * Double(total.work)
    // A product that should be whole may lack a little.
    let left = (earned + reserve + 1e-9).rounded(.down) - Double(total.attempts)
    return left < Double(Int.max) ? max(Int(left), 0) : .max
  }

  mutating func addWork(at time: Duration) {
    move(to: time)
    slots[index].work += 1
    total.work += 1
  }

  mutating func takeAttempt(at time: Duration) -> Bool {
    guard available(at: time) > 0 else { return false }
    slots[index].attempts += 1
    total.attempts += 1
    return true
  }

  private var index: Int { Int(latest % Self.slotCount) }

  /// Empties the slots that a time has left behind.
  private mutating func move(to time: Duration) {
    let quotient = time / slotLength
    let number = quotient < 9e18 ? Int64(max(quotient, 0)) : Int64(9e18)
    for _ in 0..<min(max(number - latest, 0), Self.slotCount) {
      latest += 1
      total.work -= slots[index].work
      total.attempts -= slots[index].attempts
      slots[index] = Slot()
    }
    latest = max(latest, number)
  }
}
