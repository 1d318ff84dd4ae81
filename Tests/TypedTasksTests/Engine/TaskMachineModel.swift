@testable import TypedTasks

/// An event in the life of a task, as its core passes it on.
enum TaskMachineEvent: CaseIterable {
  case enqueue, enqueueBelowAnother
  case block, unblock, unblockTwo
  case met, taken, mayBeFree
  case start, workReturns, workReturnsForGood, workGoesOn, workEnds, conclude
  case cancel, cancelOperator, noLongerBusy
  case end, tellAtEnd
}

/// What the machine of a task promises, written down without its phases, and
/// the machine itself, driven together.
///
/// The model knows only what is still to be waited for, and what has been asked
/// for and not been answered yet. There is always exactly one thing to ask for
/// next, and it is asked for when nothing is in the way.
struct TaskMachineModel: Hashable {
  /// No more than so many are counted, or there would be states without end.
  private static let most = (blockers: 3, busy: 2, working: 2)

  private(set) var machine = TaskStateMachine()

  // The model.
  private let hasConditions: Bool
  private let hasCategories: Bool
  private var isEnqueued = false
  private var isEnded = false
  private var isExecuting = false
  private var hasExecuted = false
  private var blockers = 0
  /// What has been asked for: answers, a slot.
  private var asked = TaskStateMachine.Step.none
  private var areMet = false
  /// It has a slot, and takes its categories.
  private var isTaking = false
  private var working = 0
  private var isInExecute = false
  private var isConcluded = false
  private var isCancelled = false
  private var isTold = false
  private var busy = 0
  /// The end came too early, and is to come again.
  private var owesEnd = false

  init(hasConditions: Bool, hasCategories: Bool) {
    self.hasConditions = hasConditions
    self.hasCategories = hasCategories
    machine.note(conditions: hasConditions, categories: hasCategories)
  }

  /// What there is to ask for now; asks for it.
  private mutating func next() -> TaskStateMachine.Step {
    guard isEnqueued, !isEnded, !isExecuting, !isTaking, asked == .none, blockers == 0 else {
      return .none
    }
    if hasConditions, !areMet {
      asked = .check
    } else if hasCategories {
      asked = .queue
    } else {
      asked = .schedule
    }
    return asked
  }

  /// What the phase is called that all this makes.
  private var phase: TaskStateMachine.Phase {
    if isEnded { return .ended }
    if !isEnqueued { return .created }
    if isExecuting { return .executing }
    if isTaking { return .queueing }
    switch asked {
    case .none: return .waiting
    case .check: return .checking
    case .queue: return .queueing
    case .schedule: return .ready
    case .withdraw: return .waiting
    }
  }

  /// Lets something happen to both; returns what they disagree on.
  ///
  /// What no caller does, is not done.
  mutating func apply(_ event: TaskMachineEvent) -> String? {
    var disagreement: String?
    func expect<Value: Equatable>(_ found: Value, _ expected: Value) {
      if found != expected { disagreement = "\(event) means \(found), not \(expected)" }
    }
    switch event {
    case .enqueue, .enqueueBelowAnother:
      let count = event == .enqueue ? 1 : 2
      let isFirst = !isEnqueued && !isEnded
      expect(machine.enqueue(blockers: Int32(count)), isFirst)
      if isFirst {
        isEnqueued = true
        blockers = count
        busy += 1
      }
    case .block:
      guard blockers < Self.most.blockers else { return nil }
      let isEarly = isEnqueued && !isEnded && !isExecuting
      expect(machine.block(), isEarly)
      if isEarly { blockers += 1 }
    case .unblock, .unblockTwo:
      let count = event == .unblock ? 1 : 2
      let step = machine.unblock(Int32(count))
      if !isEnded, blockers >= count { blockers -= count }
      expect(step, next())
    case .met:
      let step = machine.conditionsAreMet()
      if asked == .check {
        areMet = true
        asked = .none
      }
      expect(step, next())
    case .taken:
      let expected: TaskStateMachine.Start =
        !isTaking ? .nothing : blockers == 0 ? .execute : .withdraw
      guard expected != .withdraw || blockers < Self.most.blockers else { return nil }
      expect(machine.categoriesAreTaken(), expected)
      isTaking = false
      if expected == .withdraw { blockers += 1 }
      if expected == .execute { execute() }
    case .mayBeFree:
      let wasQueueing = asked == .queue || isTaking
      let expected: TaskStateMachine.Step =
        !wasQueueing ? .none : blockers == 0 ? .schedule : .withdraw
      guard expected != .withdraw || blockers < Self.most.blockers else { return nil }
      expect(machine.categoriesMayBeFree(), expected)
      if wasQueueing {
        isTaking = false
        asked = blockers == 0 ? .schedule : .none
      }
      if expected == .withdraw { blockers += 1 }
    case .start:
      let isFree = asked == .schedule && blockers == 0
      let isBlocked = asked == .schedule && blockers > 0 && hasCategories
      let expected: TaskStateMachine.Start =
        isBlocked ? .withdraw : !isFree ? .nothing : hasCategories ? .takeCategories : .execute
      guard !isBlocked || blockers < Self.most.blockers else { return nil }
      expect(machine.start(), expected)
      if asked == .schedule { asked = .none }
      if isBlocked { blockers += 1 }
      if expected == .takeCategories { isTaking = true }
      if expected == .execute { execute() }
    case .workReturns, .workReturnsForGood:
      guard isInExecute else { return nil }
      let endsIfCancelled = event == .workReturnsForGood
      isInExecute = false
      working -= 1
      let expected: TaskStateMachine.Return =
        working == 0 && isConcluded
        ? .giveBack : isExecuting && isCancelled && endsIfCancelled ? .settleAsCancelled : .nothing
      expect(machine.workReturned(endsIfCancelled: endsIfCancelled), expected)
    case .workGoesOn:
      guard working < Self.most.working else { return nil }
      let works = isExecuting || working > 0
      expect(machine.workGoesOn(), works)
      if works { working += 1 }
    case .workEnds:
      guard working > (isInExecute ? 1 : 0) else { return nil }
      working -= 1
      expect(machine.workHasEnded(), working == 0 && isConcluded)
    case .conclude:
      guard isEnded, !isConcluded else { return nil }
      isConcluded = true
      expect(machine.conclude(), working == 0)
    case .cancel, .cancelOperator:
      guard busy < Self.most.busy else { return nil }
      let settlesAtOnce = event == .cancelOperator
      let found = machine.cancel(settlesAtOnce: settlesAtOnce)
      if isCancelled || isEnded {
        expect(found, .nothing)
      } else {
        isCancelled = true
        if isExecuting, !settlesAtOnce {
          expect(found, .tell)
          isTold = true
          busy += 1
        } else {
          expect(found, .settle)
          end()
        }
      }
    case .noLongerBusy:
      guard busy > 0 else { return nil }
      busy -= 1
      expect(machine.isNoLongerBusy(), busy == 0 && owesEnd)
    case .end:
      end()
      expect(machine.end(), busy == 0)
      owesEnd = busy > 0
    case .tellAtEnd:
      expect(machine.tellAtEnd(), !isTold)
      isTold = true
    }
    return disagreement ?? difference(after: event)
  }

  private mutating func execute() {
    isExecuting = true
    hasExecuted = true
    isInExecute = true
    working = 1
  }

  private mutating func end() {
    isEnded = true
    isExecuting = false
    isTaking = false
    asked = .none
  }

  private func difference(after event: TaskMachineEvent) -> String? {
    if let broken = machine.brokenInvariant { return "after \(event): \(broken)" }
    let found = (machine.phase, machine.isCancelRequested, machine.wasTold, machine.wasExecuting)
    let expected = (phase, isCancelled, isTold, hasExecuted)
    if found != expected { return "after \(event): \(found), not \(expected)" }
    if machine.isEnqueued != (isEnqueued && !isEnded) {
      return "after \(event): in a queue, or not"
    }
    let isWaiting = isEnqueued && !isEnded && !isExecuting && asked != .schedule
    let doesWait = [.waiting, .checking, .queueing].contains(machine.phase)
    return doesWait == isWaiting ? nil : "after \(event): waits, or does not"
  }

  /// Tells the model, and not the machine, that the conditions are met.
  mutating func betray() {
    areMet = true
    if asked == .check { asked = .none }
  }
}
