// Invariants of a workflow: they hold whenever its lock is free. `TaskGraph+Invariants`
// says when they are checked.

#if PROPERATIONS_INVARIANTS
  extension WorkflowCore.State {
    /// Stops the process if an invariant is violated.
    ///
    /// With the lock held.
    mutating func check() {
      // After the release of a workflow its remaining state has no meaning.
      if isReleased { return }
      if let violation = graph.boundsViolation ?? constantViolation { stop(violation) }
      eventsUntilLongLook -= 1
      guard eventsUntilLongLook <= 0 else { return }
      eventsUntilLongLook = graph.count + graph.edges.count + pools.all.count
      if let violation = graph.brokenInvariant ?? linearViolation { stop(violation) }
    }

    private func stop(_ violation: String) -> Never {
      preconditionFailure("a broken invariant: \(violation)")
    }

    private var constantViolation: String? {
      if tasks.count != graph.count { return "\(tasks.count) tasks in a graph of \(graph.count)" }
      if errors.count != graph.failedCount {
        return "\(errors.count) errors of \(graph.failedCount) failed tasks"
      }
      if stopping < 0 { return "a closure that stops work returned twice" }
      if !mustBeKept, keptAlive != nil { return "kept although nothing goes on" }
      return nil
    }

    private var linearViolation: String? {
      if let fault = pools.fault(in: graph) { return fault }
      let isUnheld = nestings.contains { nesting in
        let inner = nesting.inner.core
        guard inner.state.stopping > 0, !nesting.holdsUpRun, let owner = inner.state.owner else {
          return false
        }
        return !graph[owner.task.index].isSureToEnd
      }
      if isUnheld || nestings.count(where: \.holdsUpRun) > stopping {
        return "a run does not wait for closures that stop work inside"
      }
      if nestings.count(where: \.isCancellable) != cancellableNestings {
        return "what can be cancelled inside is counted wrong"
      }
      var listed = 0
      for index in 0..<TaskIndex(graph.count) {
        let (node, flags) = (graph[index], graph[index].flags)
        if flags.contains(.isListed) { listed += 1 }
        // A task with undelivered hook news may have been taken out of its list too
        // early; the thread that delivers the news puts it back. A task with a named
        // limit may be in the line of that limit.
        if flags.contains(.isHandedOver), !flags.contains(.isDelayed), !flags.contains(.isListed),
          untoldHooks[index] == nil, limits.names[index] == nil
        {
          return "task \(index) is handed over, and in no list"
        }
        if limits.permits[index] != nil, node.state != .executing {
          return "task \(index) is \(node.state), and keeps a permit"
        }
        if extras[index] != nil, node.state != .executing, !flags.contains(.isDelayed) {
          return "task \(index) is \(node.state), and its clock or its work is not stopped"
        }
        if let attempts = attempts[index], node.run &- attempts.firstRun > attempts.count {
          return "task \(index) is in run \(node.run), and keeps the attempts of an earlier one"
        }
        if (errors[index] != nil) != (node.state == .failed) {
          return "task \(index) is \(node.state), and has the wrong error"
        }
      }
      let waiting = pools.all.reduce(0) { $0 + $1.ready.count }
      // A task may still be in the list of a pool that it has left.
      return waiting >= listed ? nil : "\(listed) tasks believe to be in lists of \(waiting)"
    }
  }
#endif
