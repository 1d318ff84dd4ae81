// What a task is doing before and while it runs, as a pure value.
//
// Whether it has *settled* is the business of the engine of `Futures`; here is
// what comes before that:
//
//   created ── enqueue ──▶ waiting ── nothing left to wait for ─┐
//                             ▲                                 ▼
//        a dependency is added│                 checking: conditions are asked
//        before it executes   │                                 │ all met
//                             │                                 ▼
//                             │             queueing: for the turn in categories
//                             │                                 │ all its own
//                             └───────────── ready ◀────────────┘
//                                              │ a slot
//                                              ▼
//                                          executing
//
//   any ── settled, or cancelled before it executes ──▶ ended
//
// A phase that has nothing to do is passed through at once, and none is gone
// through twice: a task that goes back to waiting keeps the answers of its
// conditions and its turn in its categories.
//
// Waiting is a count of blockers: one for each dependency, one for what is
// upstream, one while the task is being enqueued.
//
// Cancelling:
//   before it executes ──▶ ended; the caller settles it
//   while it executes ──▶ requested: told once to observers and handlers
//   later, or again ──▶ nothing
//
// Every event is called with the lock held and calls nobody; what there is to
// do goes back as an action.

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
    /// The task has settled.
    case nothing
    /// It goes on elsewhere, and keeps its slot.
    case keepSlot
    /// It was asked to cancel, and is not going to finish.
    case settleAsCancelled
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
  private(set) var isAdmitted = false
  private(set) var isEndHeldBack = false

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

  /// It is the task's turn in all its categories.
  mutating func categoriesAreFree() -> Step {
    guard phase == .queueing else { return .none }
    isAdmitted = true
    return advance()
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
    if hasCategories, !isAdmitted {
      phase = .queueing
      return .queue
    }
    phase = .ready
    return .schedule
  }

  // MARK: Running

  /// The task has a slot.
  ///
  /// `false` if there is nothing to execute, or something to wait for again.
  mutating func run() -> Bool {
    guard phase == .ready else { return false }
    if blockers > 0 {
      phase = .waiting
      return false
    }
    phase = .executing
    wasExecuting = true
    return true
  }

  /// The work has returned.
  mutating func workReturned(endsIfCancelled: Bool) -> Return {
    guard phase == .executing else { return .nothing }
    return isCancelRequested && endsIfCancelled ? .settleAsCancelled : .keepSlot
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
