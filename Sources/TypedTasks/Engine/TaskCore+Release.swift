import Futures

// Release without recursion.

extension TaskCore {
  /// Releases everything that the task waits for.
  ///
  /// A loop releases a chain of tasks that were never enqueued.
  final func releaseWithoutRecursion(_ task: AnyFuture) {
    // Most tasks released everything when they ended.
    if !hasParts, state.withLock({ $0.extras == nil && $0.machine.phase == .ended }) { return }
    var stack = takeReferences(task)
    while var next = stack.popLast() {
      // Kept here while the task is released, and not taken from it: the `deinit` of a
      // subclass may read its producer.
      if isKnownUniquelyReferenced(&next), let core = next.taskCore {
        stack += core.references(of: next)
      }
    }
  }

  /// Returns everything that the task waits for, and leaves it there.
  private final func references(of task: AnyFuture) -> [AnyFuture] {
    let (dependencies, sources) = state.withLock { state in
      (state.extras?.dependencies.all ?? [], state.extras?.sources ?? [])
    }
    return takeParts() + dependencies.compactMap { $0.isWeak ? nil : $0.operation as? AnyFuture }
      + sources + (isOperator ? task.upstreamFuture.map { [$0] } ?? [] : [])
  }

  /// Removes everything that the task waits for, and returns it.
  private final func takeReferences(_ task: AnyFuture) -> [AnyFuture] {
    let all = references(of: task)
    if phase == .created { leaveBranches(task) }
    let (dependencies, sources) = state.withLock { state in
      defer { state.extras?.dependencies = DependencyList() }
      return (state.extras?.dependencies.all ?? [], state.takeSources())
    }
    for dependency in dependencies { dependency.stopWatching() }
    let upstream = isOperator ? task.takeUpstream() : nil
    withExtendedLifetime((sources, upstream)) {}
    return all
  }
}
