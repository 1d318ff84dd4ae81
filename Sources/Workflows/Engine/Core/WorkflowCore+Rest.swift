import Futures

/// The end of a run: the workflow is quiescent, no task is active.
struct Rest {
  /// Makes the outcome; after unlock, because hashing may run a subclass's code.
  let outcome: () -> WorkflowOutcome
  /// The timer of the run, if it had a timeout.
  let timer: Future<Void>?
  let promises: [Promise<WorkflowOutcome>]
}

extension WorkflowCore {
  /// With the lock held, when no task is active: ends the run.
  ///
  /// Returns `nil` if there is no observer to inform.
  func comesToRest(_ state: inout State) -> Rest? {
    (state.isRunning, state.isRunNew) = (false, false)
    defer { state.graph.includeAll() }
    let (promises, timer) = (state.takeOutcomes(), state.runTimer.take())
    guard !promises.isEmpty || timer != nil || state.delegate != nil || !state.streams.isEmpty
    else { return nil }
    return Rest(outcome: outcomeOfRest(state), timer: timer, promises: promises)
  }

  /// With the lock held, when no task is active: whether streams still wait for news from
  /// inner workflows.
  ///
  /// That news comes before the end of the run. The thread that delivers it then
  /// continues here.
  ///
  /// - Parameter kept: Receives the workflow, to be released after unlock.
  /// - Complexity: O(the number of workflows inside) if there are streams.
  func waitsForNewsInside(_ state: borrowing State, _ kept: inout Workflow?) -> Bool {
    guard !state.streams.isEmpty, !state.nestings.isEmpty else { return false }
    kept = workflow
    guard let workflow = kept else { return false }
    var next = state.nestings
    while let inner = next.popLast()?.inner.core {
      if inner.state.isTelling || !inner.state.news.isEmpty {
        if !inner.state.endingAfterTelling.contains(where: { $0 === workflow }) {
          inner.state.endingAfterTelling.append(workflow)
        }
        return true
      }
      next += inner.state.nestings
    }
    return false
  }

  /// After unlock, on the delivering thread: informs observers how a run has ended.
  func tell(_ rest: Rest) {
    rest.timer?.cancel()
    let outcome = rest.outcome()
    tellDelegate { $0.workflow($1, didEndRunWith: outcome) }
    yield(.runDidEnd(outcome))
    for promise in rest.promises { promise.succeed(with: outcome) }
  }

  private func outcomeOfRest(_ state: borrowing State) -> () -> WorkflowOutcome {
    let graph = state.graph
    if graph.unfinishedCount == 0 || state.isReleased { return { .finished } }
    var errors: [(AnyWorkflowTask, any Error)] = []
    var cancelled: [AnyWorkflowTask] = []
    var unfinished: ContiguousArray<TaskIndex> = []
    for index in 0..<TaskIndex(graph.count) where !graph[index].flags.contains(.isExcluded) {
      let task = state.tasks[Int(index)]
      switch graph[index].state {
      case .finished, .skipped: continue
      case .failed:
        errors.append((task, state.errors[index] ?? WorkflowError.noResult(of: task)))
      case .cancelled: cancelled.append(task)
      case .pending, .ready, .executing: unfinished.append(index)
      }
    }
    if !errors.isEmpty { return { [errors] in .failed(Dictionary(errors) { first, _ in first }) } }
    if !cancelled.isEmpty { return { [cancelled] in .cancelled(cancelled) } }
    if unfinished.isEmpty { return { .finished } }
    let waiting = unfinished.map { index in
      let others = graph.prerequisites(of: index).filter {
        graph[$0].state != .finished && graph[$0].state != .skipped
      }
      return (state.tasks[Int(index)], others.map { state.tasks[Int($0)] })
    }
    return { .stuck(Dictionary(waiting) { first, _ in first }) }
  }
}
