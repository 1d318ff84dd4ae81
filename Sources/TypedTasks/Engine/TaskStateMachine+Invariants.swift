// The invariants of the state machine: they hold after every event, in any order of
// events.
//
// The tests of the machine check them after every event in every state. A build with
// `-Xswiftc -DPROPERATIONS_INVARIANTS`, as in the sanitizer stages of `.ci/run`, also
// checks them in the core of every task, with its lock held, while the tests run on real
// threads. Ordinary builds do not check them.

extension TaskStateMachine {
  /// The broken rule, if this state breaks one.
  var brokenInvariant: String? {
    if blockers < 0 { return "more is over than was waited for" }
    if busy < 0 { return "more have stopped to be busy than have begun" }
    if isCancelRequested, phase != .ended, phase != .executing || !wasTold {
      return "was asked to cancel, and is \(phase) as if nothing had happened"
    }
    if working < 0 { return "more work has returned than has begun" }
    if working > 0, !wasExecuting { return "works, and has not executed" }
    if isEndHeldBack, phase != .ended { return "its end is held back, and it has not ended" }
    return phaseViolation
  }

  private var phaseViolation: String? {
    switch phase {
    case .created:
      return blockers > 0 || busy > 0 || wasExecuting ? "has begun, and is in no queue" : nil
    case .waiting:
      return blockers == 0 ? "waits for nothing" : nil
    case .checking:
      return !hasConditions || isChecked ? "asks for what it knows" : nil
    case .queueing:
      return !hasCategories || !isAnswered ? "stands in line too early" : nil
    case .ready:
      return isAnswered ? nil : "skips its conditions"
    case .executing:
      if blockers > 0 || !wasExecuting { return "executes before its time" }
      return isAnswered ? nil : "executes without its conditions"
    case .ended:
      return nil
    }
  }

  private var isAnswered: Bool { !hasConditions || isChecked }

  #if PROPERATIONS_INVARIANTS
    /// Stops the process if a rule is broken.
    ///
    /// Called with the lock held.
    func check() {
      if let brokenInvariant { preconditionFailure("a broken invariant: \(brokenInvariant)") }
    }
  #endif
}
