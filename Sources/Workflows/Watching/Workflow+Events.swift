import Foundation
import Futures

extension Workflow {
  /// What happens in the workflow from now on, in order.
  ///
  /// Every run ends with one ``WorkflowEvent/runDidEnd(_:)``, whatever its outcome.
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
  /// Its units are the weights; if their sum is more than an `Int64` holds, both
  /// counts are divided by the same power of two.
  ///
  /// Cancelling the progress cancels the workflow. A `Progress` stays cancelled for
  /// good, so this is another object from the next ``start()``, ``retry()`` or
  /// ``reset()`` on; else it is the same at every access.
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

extension WorkflowCore {
  /// Drops a progress that was cancelled, and stays so: the next run needs another.
  func dropCancelledProgress() {
    guard let old = read({ $0.progress }), old.progress.isCancelled else { return }
    change { state in if state.progress === old { state.progress = nil } }
  }
}

/// Counts what has finished.
final class WorkflowProgress: Sendable {
  let progress: Progress
  private let weights = Lock(Weights())

  private struct Weights {
    var all: [ObjectIdentifier: Int64] = [:]
    var finished: Set<ObjectIdentifier> = []
    // (Wider than any sum of weights.)
    var total: Int128 = 0
    var done: Int128 = 0
    /// A thread writes to the progress: one at a time, for Foundation's is not
    /// safe, and the last value has to be the latest.
    var isPublishing = false
    var hasChanged = false

    mutating func add(_ task: ObjectIdentifier, _ weight: Int64) {
      guard all.updateValue(weight, forKey: task) == nil else { return }
      total += Int128(weight)
      // (News of its end may have come before it.)
      if finished.contains(task) { done += Int128(weight) }
    }
    mutating func finish(_ task: ObjectIdentifier) {
      if finished.insert(task).inserted { done += Int128(all[task, default: 0]) }
    }
    mutating func reset(_ task: ObjectIdentifier) {
      if finished.remove(task) != nil { done -= Int128(all[task, default: 0]) }
    }

    /// What Foundation can count: the sums, or the same part of both.
    var published: (done: Int64, total: Int64) {
      var shift = 0
      while total >> shift > Int64.max { shift += 1 }
      return (Int64(done >> shift), Int64(total >> shift))
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
    case .started, .failed, .cancelled, .attemptFailed, .retried, .workflowFinished: break
    }
  }

  private func change(_ body: (inout Weights) -> Void) {
    let isPublisher = weights.withLock { weights in
      body(&weights)
      weights.hasChanged = true
      defer { weights.isPublishing = true }
      return !weights.isPublishing
    }
    guard isPublisher else { return }
    while let (done, total) = takeChange() {
      if progress.totalUnitCount != total { progress.totalUnitCount = total }
      progress.completedUnitCount = done
    }
  }

  /// What has yet to be published; `nil` if nothing has, and others may.
  private func takeChange() -> (done: Int64, total: Int64)? {
    weights.withLock { weights in
      weights.isPublishing = weights.hasChanged
      guard weights.hasChanged else { return nil }
      weights.hasChanged = false
      return weights.published
    }
  }
}
