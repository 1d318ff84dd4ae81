import Foundation
import Futures

extension Workflow {
  /// What happens in the workflow from now on, in order.
  ///
  /// Each access makes a stream of its own, which keeps events until they are
  /// consumed and ends when the workflow is released. A consumer that is slow
  /// holds nobody up.
  public var events: AsyncStream<WorkflowEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: WorkflowEvent.self)
    let core = core
    let number = core.change { state in
      state.lastObserver += 1
      state.streams[state.lastObserver] = continuation
      return state.lastObserver
    }
    continuation.onTermination = { [weak core] _ in
      let old = core?.change { $0.streams.removeValue(forKey: number) }
      withExtendedLifetime(old) {}
    }
    return stream
  }

  /// How much of the workflow has finished, each task by its weight.
  ///
  /// Cancelling the progress cancels the workflow. The object is the same at
  /// every access.
  public var progress: Progress {
    let made = WorkflowProgress(of: self)
    let (counter, isNew) = core.change { state in
      if let existing = state.progress { return (existing, false) }
      state.progress = made
      return (made, true)
    }
    if isNew { counter.add(allTasks) }
    return counter.progress
  }
}

/// Counts what has finished.
final class WorkflowProgress: Sendable {
  let progress: Progress
  private let weights = Lock(Weights())

  private struct Weights {
    var all: [ObjectIdentifier: Int64] = [:]
    var finished: Set<ObjectIdentifier> = []
    var total: Int64 = 0
    var done: Int64 = 0

    mutating func add(_ task: ObjectIdentifier, _ weight: Int64) {
      if all.updateValue(weight, forKey: task) == nil { total += weight }
    }
    mutating func finish(_ task: ObjectIdentifier) {
      if finished.insert(task).inserted { done += all[task, default: 0] }
    }
    mutating func reset(_ task: ObjectIdentifier) {
      if finished.remove(task) != nil { done -= all[task, default: 0] }
    }
  }

  init(of workflow: Workflow) {
    progress = Progress(totalUnitCount: 0)
    progress.cancellationHandler = { [weak workflow] in workflow?.cancel() }
  }

  func add(_ tasks: [AnyWorkflowTask]) {
    let known = tasks.map { (ObjectIdentifier($0), $0.progressWeight, $0.isFinished) }
    change { weights in
      for (id, weight, isFinished) in known {
        weights.add(id, weight)
        if isFinished { weights.finish(id) }
      }
    }
  }

  func tell(_ news: Delivery) {
    switch news {
    case .finished(let task, _): change { $0.finish(ObjectIdentifier(task)) }
    case .reset(let task): change { $0.reset(ObjectIdentifier(task)) }
    case .started, .failed, .cancelled, .retried, .workflowFinished: break
    }
  }

  private func change(_ body: (inout Weights) -> Void) {
    let (done, total) = weights.withLock { weights in
      body(&weights)
      return (weights.done, weights.total)
    }
    if progress.totalUnitCount != total { progress.totalUnitCount = total }
    progress.completedUnitCount = done
  }
}
