// The rules that hold for a machine after every event, in any order of events.
//
// The tests of the machine check them after every event of every order that they try.
// Builds with `-Xswiftc -DPROPERATIONS_INVARIANTS` check them in the storage of every
// future too, with the lock held. The sanitizer stages of `.ci/run` and the mutation
// check use such a build.
//
// The cost is constant: a check looks at both ends of the list of waiters and does not
// walk the list.

extension FutureStateMachine {
  /// The rule that this state breaks, or `nil`.
  var brokenInvariant: String? {
    phaseViolation ?? waiterViolation ?? deliveryViolation ?? placeViolation
  }

  /// The rule about the closure.
  private var phaseViolation: String? {
    phase == .running && work != nil ? "the closure that runs is kept for another run" : nil
  }

  /// The rules about the waiters, and about the number of consumers.
  private var waiterViolation: String? {
    if consumerCount < 0 { return "more consumers have left than came" }
    if (waiters.first == nil) != (waiters.last == nil) { return "a list with one end" }
    if let first = waiters.first {
      if first.previous != nil { return "a waiter stands before the first one" }
      if !first.isEnlisted { return "the first waiter does not know its list" }
    }
    if let last = waiters.last?.waiter {
      if last.next != nil { return "a waiter stands behind the last one" }
      if !last.isEnlisted { return "the last waiter does not know its list" }
    }
    if !isSettled, waiters.isEmpty, consumerCount > 0 { return "a consumer in an empty list" }
    if !isSettled, consumerCount == 0, waiters.first?.isConsumer == true {
      return "a consumer is not counted"
    }
    return nil
  }

  /// The rules about the parts that the delivery takes out of the machine.
  private var deliveryViolation: String? {
    if !isSettled { return isTelling ? "tells of a future that has not settled" : nil }
    if isTelling { return nil }
    if !waiters.isEmpty { return "settled, told, and a waiter is left" }
    if case .none = upstream {} else { return "settled, told, and holds what is upstream" }
    return nil
  }

  /// The rule about the life in an operation queue.
  private var placeViolation: String? {
    if phase == .settledInQueue, !isHeld {
      return "waits for the start by a queue that does not hold it"
    }
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
    /// Checks that no published flag is taken back, except `executing`.
    func checkSuccession(of old: Flags, by new: Flags) {
      precondition(
        old.subtracting([.executing, .held]).isSubset(of: new), "a published flag was taken back")
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
