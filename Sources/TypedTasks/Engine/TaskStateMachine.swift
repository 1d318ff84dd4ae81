// What a task is doing before and while it runs, as a pure value.
//
// Whether the task has *settled* is the business of the engine of `Futures`; here is
// what comes before that:
//
//   created ── enqueue ──▶ waiting ── no blocker is left ──▶ checking
//                           ▲   ▲                               │ all conditions are met
//    a dependency is added  │   │                               ▼
//    before it executes     │   └──────────────────────── queueing, for categories
//                           │                                   │ ▲
//                           │        they are free, it seems    │ │ they are taken: the
//                           │                                   ▼ │ slot is given back
//                           └──────────────────────────── ready: has, or waits for,
//                                                               │ a slot
//                              all categories taken in one step │
//                                                               ▼
//                                                           executing
//
//   any ── settled, or cancelled before it executes ──▶ ended
//
// A phase that has nothing to do is passed through at once. Answers of conditions are
// kept when the task goes back to waiting. A task that waits holds nothing: a slot and
// the categories are taken together when it begins to execute, or not at all.
//
// Waiting is a count of blockers: one for each dependency, one for what is upstream,
// one for a barrier that the task is behind, one while the task is being enqueued.
//
// Cancelling:
//   before it executes ──▶ ended; the caller settles it
//   while it executes ──▶ requested: told once to observers and handlers
//   later, or again ──▶ nothing
//
// The slot and the categories are given back when the work has returned and the task
// has concluded, whichever is later. Work that goes on elsewhere when `execute()` has
// returned is counted until its end.
//
// Every event is called with the lock held and calls nothing outside; what there is
// to do goes back as an action.

/// The life of a task, without a lock.
///
/// Two that are equal do the same from then on; the tests go by that.
struct TaskStateMachine: Hashable {
  /// Where the task is on its way.
  enum Phase: UInt8 {
    case created
    case waiting
    case checking
    case queueing
    case ready
    case executing
    case ended
  }

  /// What has to be done next to bring the task further.
  enum Step {
    case none
    /// Ask the conditions.
    case check
    /// Stand in line for the categories.
    case queue
    /// Get a slot.
    case schedule
    /// There is something to wait for again: give up what was asked of the categories,
    /// and then take the blocker off that stands for this.
    case withdraw
  }

  /// What a task may do that has got a slot.
  enum Start {
    /// There is nothing to execute, or something to wait for again.
    case nothing
    /// There is something to wait for again: see `Step.withdraw`.
    case withdraw
    /// Take the categories, all or none of them.
    case takeCategories
    case execute
  }

  /// What a request to cancel leads to.
  enum Cancellation {
    case nothing
    /// Settle it: it has not begun to execute.
    case settle
    /// Tell those who want to know.
    case tell
  }

  /// What the return of the work leads to.
  enum Return {
    /// The work goes on elsewhere, or the task has yet to conclude.
    case nothing
    /// The task was asked to cancel, and is not going to finish.
    case settleAsCancelled
    /// All is over: give the slot and the categories back.
    case giveBack
  }

  private(set) var phase = Phase.created
  private(set) var isCancelRequested = false
  /// How many are just busy with the task, who tell of its cancellation or put
  /// it in a queue; its end has to wait for them.
  private(set) var busy: Int8 = 0
  /// The cancellation was told.
  private(set) var wasTold = false
  private(set) var wasExecuting = false
  /// A queue has, or had, the task.
  private(set) var wasEnqueued = false
  private(set) var blockers: Int32 = 0
  private(set) var hasConditions = false
  private(set) var hasCategories = false
  private(set) var isChecked = false
  /// Whether it has a slot while it is queueing, and is about to take its categories.
  private var isTaking = false
  private(set) var isEndHeldBack = false
  /// How much of the work has not returned: `execute()`, and what goes on elsewhere.
  private(set) var working: Int8 = 0
  private(set) var isConcluded = false

  /// Whether the task is in a queue and has not settled.
  var isEnqueued: Bool { phase != .created && phase != .ended }

  /// Whether it waits for something before it gets a slot.
  var isWaiting: Bool { phase == .waiting || phase == .checking || phase == .queueing }

  // MARK: Before it runs

  /// A queue takes the task.
  ///
  /// `false` if one has already, or the task has ended.
  ///
  /// - Parameter count: What there is to wait for, the enqueuing itself
  ///   included.
  mutating func enqueue(blockers count: Int32 = 1) -> Bool {
    guard phase == .created else { return false }
    phase = .waiting
    wasEnqueued = true
    blockers = count
    busy += 1
    return true
  }

  /// There is something more to wait for; `false` if it is too late for that.
  mutating func block() -> Bool {
    guard isEnqueued, phase != .executing else { return false }
    blockers += 1
    return true
  }

  /// Something, or several things, that were waited for are over.
  mutating func unblock(_ count: Int32 = 1) -> Step {
    guard phase != .ended, blockers >= count else { return .none }
    blockers -= count
    return phase == .waiting ? advance() : .none
  }

  /// What the task has been given before it is enqueued.
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
    guard blockers == 0 else {
      waitAgain()
      return .withdraw
    }
    phase = .ready
    return .schedule
  }

  /// The claim on the categories is given up before the task can enter the line again.
  private mutating func waitAgain() {
    phase = .waiting
    blockers += 1
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

  /// The task has a slot.
  mutating func start() -> Start {
    guard phase == .ready else { return .nothing }
    if hasCategories {
      guard blockers == 0 else {
        waitAgain()
        return .withdraw
      }
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

  /// The task has all its categories, and still its slot.
  mutating func categoriesAreTaken() -> Start {
    guard phase == .queueing, isTaking else { return .nothing }
    isTaking = false
    guard blockers == 0 else {
      waitAgain()
      return .withdraw
    }
    execute()
    return .execute
  }

  private mutating func execute() {
    phase = .executing
    wasExecuting = true
    working = 1
  }

  /// A part of the work goes on elsewhere, also if the task has ended meanwhile; `false`
  /// if the task does not work.
  mutating func workGoesOn() -> Bool {
    guard phase == .executing || working > 0 else { return false }
    working += 1
    return true
  }

  /// A part of the work that went on elsewhere has ended; `true` if all is over.
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

  /// Handlers and observers have been told of the end; `true` if all is over.
  mutating func conclude() -> Bool {
    isConcluded = true
    return working == 0
  }

  // MARK: Cancelling and ending

  /// Somebody wants the task to be cancelled.
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

  /// Everybody has been told of the request, or the task is in its queue; `true`
  /// if the end waits for that.
  mutating func isNoLongerBusy() -> Bool {
    busy -= 1
    return busy == 0 && isEndHeldBack
  }

  /// The task has settled.
  ///
  /// `false` if somebody is busy with it: then the end comes after that.
  mutating func end() -> Bool {
    phase = .ended
    isEndHeldBack = busy > 0
    return busy == 0
  }

  /// The cancellation is to be told at the end, because nobody has; `true`
  /// once.
  mutating func tellAtEnd() -> Bool {
    defer { wasTold = true }
    return !wasTold
  }
}
