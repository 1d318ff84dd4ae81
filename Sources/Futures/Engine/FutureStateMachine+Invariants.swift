// What holds of a machine after every event, whatever the order of events.
//
// The tests of the machine ask after every event of every order they try.
// Built with `-Xswiftc -DPROPERATIONS_INVARIANTS`, as the sanitizer stages of
// `.ci/run` and the mutation check are, the storage of every future asks too,
// with the lock held, in whatever the tests do with real threads.
//
// The cost is constant: some thirty loads and comparisons an event, and no
// allocation. So the list of waiters is looked at from both ends and not walked
// (a million on one future would take a million steps each time); and ordinary
// builds, whose events take a dozen instructions, go without.

extension FutureStateMachine {
  /// The rule that this state breaks, if it breaks one.
  var brokenInvariant: String? {
    phaseViolation ?? waiterViolation ?? deliveryViolation ?? operationViolation
  }

  /// What the closure may be doing.
  private var phaseViolation: String? {
    if phase == .running, !isClosureActive { return "running without a closure" }
    if phase == .waiting, isClosureActive { return "a closure is active in a waiting future" }
    if phase == .running, work != nil { return "the closure that runs is kept for another run" }
    guard phase == .running else { return nil }
    if case .none = upstream { return nil }
    return "a future that runs waits for something"
  }

  /// Who waits, and how many of them want the value.
  private var waiterViolation: String? {
    if demand < 0 { return "more have left than wanted the value" }
    if (waiters.first == nil) != (waiters.last == nil) { return "a list with one end" }
    if let first = waiters.first {
      if first.previous != nil { return "somebody stands before the first waiter" }
      if !first.isEnlisted { return "the first waiter does not know that he waits" }
    }
    if let last = waiters.last?.waiter {
      if last.next != nil { return "somebody stands behind the last waiter" }
      if !last.isEnlisted { return "the last waiter does not know that he waits" }
    }
    if phase != .settled, waiters.isEmpty, demand > 0 {
      return "the value is wanted by nobody who waits"
    }
    if phase != .settled, demand == 0, waiters.first?.isDemanding == true {
      return "a waiter wants the value and is not counted"
    }
    return nil
  }

  /// What is there to be handed out once, and is gone afterwards.
  private var deliveryViolation: String? {
    if phase != .settled {
      return isDelivering ? "delivers what has not settled" : nil
    }
    if isDelivering { return nil }
    if !waiters.isEmpty { return "settled, delivered, and somebody still waits" }
    if work != nil { return "settled, delivered, and the closure is kept" }
    if !handlers.isEmpty { return "settled, delivered, and handlers are kept" }
    if case .none = upstream {} else { return "settled, delivered, and holds what is above" }
    if case .inline = context {} else { return "settled, delivered, and holds its context" }
    return nil
  }

  /// The life in an operation queue.
  private var operationViolation: String? {
    if isFinished, phase != .settled { return "finished without a result" }
    if isFinished, isClosureActive { return "finished while its closure runs" }
    if isFinished, isQueued, !isStarted { return "finished before its queue started it" }
    if phase == .settled, !isClosureActive, !isFinished, !isQueued {
      return "settled, in no queue, and not finished"
    }
    if home != nil, !isMember { return "at home in a queue that it does not belong to" }
    return nil
  }

  #if PROPERATIONS_INVARIANTS
    /// Stops the process if a rule is broken.
    ///
    /// With the lock held.
    func check() {
      if let brokenInvariant { preconditionFailure("a broken invariant: \(brokenInvariant)") }
    }
  #endif
}

#if PROPERATIONS_INVARIANTS
  extension FutureStorage {
    /// What has been published is never taken back, but for `executing`.
    func checkSuccession(of old: Flags, by new: Flags) {
      precondition(
        old.subtracting(.executing).isSubset(of: new), "a published flag was taken back")
      precondition(!new.contains(.finished) || new.contains(.settled), "finished, not settled")
      precondition(!new.contains(.cancelled) || new.contains(.failed), "cancelled, not failed")
      precondition(new.contains(.settled) || !new.contains(.failed), "failed, not settled")
      precondition(
        !old.contains(.settled)
          || old.contains(.failed) == new.contains(.failed)
            && old.contains(.cancelled) == new.contains(.cancelled),
        "the outcome changed")
    }
  }
#endif
