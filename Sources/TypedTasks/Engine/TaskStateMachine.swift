// The life of a task before and while it runs, as a pure value.
//
// The engine of `Futures` decides whether the task has *settled*. This machine describes
// the time before that:
//
//   created ── enqueue ──▶ waiting ── no blocker is left ──▶ checking
//                           ▲   ▲                               │ all conditions are met
//    a dependency is added  │   │                               ▼
//    before it executes     │   └──────────────────────── queueing, for categories
//                           │                                   │ ▲
//                           │        they appear to be free     │ │ they are taken: the
//                           │                                   ▼ │ slot is given back
//                           └──────────────────────────── ready: has, or waits for,
//                                                               │ a slot
//                              all categories taken in one step │
//                                                               ▼
//                                                           executing
//
//   any ── settled, or cancelled before it executes ──▶ ended
//
// A phase with nothing to do is passed through at once. The answers of conditions are
// kept when the task goes back to waiting. A waiting task holds nothing: when it begins
// to execute, it takes its slot and its categories together, or neither.
//
// Waiting is a count of blockers: one for each dependency, one for the upstream, one for
// a barrier in front of the task, one for the enqueuing itself.
//
// Cancelling:
//   before it executes ──▶ ended; the caller settles it
//   while it executes ──▶ requested: observers and handlers are told once
//   later, or again ──▶ nothing
//
// The slot and the categories are given back when the work has returned and the task has
// concluded, whichever is later. Work that continues elsewhere after `execute()` has
// returned is counted until it ends.
//
// Every event is called with the lock held, calls nothing outside, and returns the action
// to perform.

/// The life of a task, without a lock.
///
/// Two equal machines behave alike from then on; the tests rely on that.
struct TaskStateMachine: Hashable {
  /// The phases of the task's life.
  enum Phase: UInt8 {
    case created
    case waiting
    case checking
    case queueing
    case ready
    case executing
    case ended
  }

  /// What has to be done next.
  enum Step {
    case none
    /// Evaluate the conditions.
    case check
    /// Wait in line for the categories.
    case queue
    /// Get a slot.
    case schedule
    /// The task has something to wait for again: withdraw its claim on the categories,
    /// and then remove the blocker that stands for this.
    case withdraw
  }

  /// What a task with a slot may do.
  enum Start {
    /// There is nothing to execute, or the task has something to wait for again.
    case nothing
    /// The task has something to wait for again: see `Step.withdraw`.
    case withdraw
    /// Take the categories, all or none of them.
    case takeCategories
    case execute
  }

  /// What a request to cancel leads to.
  enum Cancellation {
    case nothing
    /// Settle the task: it has not begun to execute.
    case settle
    /// Tell observers and handlers.
    case tell
  }

  /// What the return of the work leads to.
  enum Return {
    /// The work continues elsewhere, or the task has yet to conclude.
    case nothing
    /// The task was asked to cancel, and will not finish by itself.
    case settleAsCancelled
    /// The task is over: give the slot and the categories back.
    case giveBack
  }

  private(set) var phase = Phase.created
  private(set) var isCancelRequested = false
  /// How many callers are telling of the cancellation or putting the task in a queue.
  ///
  /// The end of the task waits for them.
  private(set) var busy: Int8 = 0
  /// Observers and handlers have been told of the cancellation.
  private(set) var wasTold = false
  private(set) var wasExecuting = false
  /// The task is, or was, in a queue.
  private(set) var wasEnqueued = false
  private(set) var blockers: Int32 = 0
  private(set) var hasConditions = false
  private(set) var hasCategories = false
  private(set) var isChecked = false
  /// Whether the task has a slot while it is queueing, and is about to take its
  /// categories.
  private var isTaking = false
  private(set) var isEndHeldBack = false
  /// How many parts of the work have not returned: `execute()`, and work that continues
  /// elsewhere.
  private(set) var working: Int8 = 0
  private(set) var isConcluded = false

  /// Whether the task is in a queue and has not settled.
  var isEnqueued: Bool { phase != .created && phase != .ended }

  // MARK: Before the work

  /// Puts the task in a queue.
  ///
  /// `false` if the task was in a queue before or has ended.
  ///
  /// - Parameter count: The number of blockers, including the one for the enqueuing
  ///   itself.
  mutating func enqueue(blockers count: Int32 = 1) -> Bool {
    guard phase == .created else { return false }
    phase = .waiting
    wasEnqueued = true
    blockers = count
    busy += 1
    return true
  }

  /// Adds a blocker; `false` if it is too late for that.
  mutating func block() -> Bool {
    guard isEnqueued, phase != .executing else { return false }
    blockers += 1
    return true
  }

  /// Removes blockers.
  mutating func unblock(_ count: Int32 = 1) -> Step {
    guard phase != .ended, blockers >= count else { return .none }
    blockers -= count
    return phase == .waiting ? advance() : .none
  }

  /// Notes what the task was given before it was enqueued.
  mutating func note(conditions: Bool, categories: Bool) {
    hasConditions = conditions
    hasCategories = categories
  }

  /// All conditions are met.
  mutating func conditionsAreMet() -> Step {
    guard phase == .checking else { return .none }
    isChecked = true
    return advance()
  }

  /// The categories may have become free: the task asks for a slot again.
  mutating func categoriesMayBeFree() -> Step {
    guard phase == .queueing else { return .none }
    isTaking = false
    if waitAgain() { return .withdraw }
    phase = .ready
    return .schedule
  }

  /// Whether the task has something to wait for again.
  ///
  /// Then adds a blocker for the claim, which is withdrawn before the task enters the line
  /// again.
  private mutating func waitAgain() -> Bool {
    guard blockers > 0 else { return false }
    phase = .waiting
    blockers += 1
    return true
  }

  private mutating func advance() -> Step {
    if blockers > 0 {
      phase = .waiting
      return .none
    }
    if hasConditions, !isChecked {
      phase = .checking
      return .check
    }
    phase = hasCategories ? .queueing : .ready
    return hasCategories ? .queue : .schedule
  }

  // MARK: Running

  /// The task has got a slot.
  mutating func start() -> Start {
    guard phase == .ready else { return .nothing }
    if hasCategories {
      if waitAgain() { return .withdraw }
      phase = .queueing
      isTaking = true
      return .takeCategories
    }
    if blockers > 0 {
      phase = .waiting
      return .nothing
    }
    execute()
    return .execute
  }

  /// The task has got all its categories, and still has its slot.
  mutating func categoriesAreTaken() -> Start {
    guard phase == .queueing, isTaking else { return .nothing }
    isTaking = false
    if waitAgain() { return .withdraw }
    execute()
    return .execute
  }

  private mutating func execute() {
    phase = .executing
    wasExecuting = true
    working = 1
  }

  /// Counts a part of the work that continues elsewhere, also after the task has ended;
  /// `false` if the task does not work.
  mutating func workGoesOn() -> Bool {
    guard phase == .executing || working > 0 else { return false }
    working += 1
    return true
  }

  /// A part of the work that continued elsewhere has ended; `true` if the task is over.
  mutating func workHasEnded() -> Bool {
    working -= 1
    return working == 0 && isConcluded
  }

  /// `execute()` has returned.
  mutating func workReturned(endsIfCancelled: Bool) -> Return {
    if workHasEnded() { return .giveBack }
    return phase == .executing && isCancelRequested && endsIfCancelled
      ? .settleAsCancelled : .nothing
  }

  /// Handlers and observers have been told of the end; `true` if the task is over.
  mutating func conclude() -> Bool {
    isConcluded = true
    return working == 0
  }

  // MARK: Cancelling and ending

  /// Requests cancellation.
  mutating func cancel(settlesAtOnce: Bool) -> Cancellation {
    guard !isCancelRequested, phase != .ended else { return .nothing }
    isCancelRequested = true
    if phase == .executing, !settlesAtOnce {
      busy += 1
      wasTold = true
      return .tell
    }
    phase = .ended
    return .settle
  }

  /// A caller has told of the request, or has put the task in its queue; `true` if the
  /// end waited for that.
  mutating func isNoLongerBusy() -> Bool {
    busy -= 1
    return busy == 0 && isEndHeldBack
  }

  /// The task has settled.
  ///
  /// `false` if a caller is busy with it: the end comes after that.
  mutating func end() -> Bool {
    phase = .ended
    isEndHeldBack = busy > 0
    return busy == 0
  }

  /// Whether the end has to tell of the cancellation, because it has not been told;
  /// `true` once.
  mutating func tellAtEnd() -> Bool {
    defer { wasTold = true }
    return !wasTold
  }
}
