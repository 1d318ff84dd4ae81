import Foundation
import Futures

extension Workflow {
  /// The events of the workflow from now on, in order.
  ///
  /// Every run ends with one ``WorkflowEvent/runDidEnd(_:)``, whatever its outcome. The
  /// stream also contains the events of tasks in the workflows inside, in the order of
  /// each workflow. It does not contain the events of those workflows themselves, such as
  /// the end of their runs: the events of the task around them report these.
  ///
  /// Each access makes a stream of its own, which keeps events until they are consumed
  /// and ends when the workflow is released. A slow consumer delays neither the workflow
  /// nor other observers.
  public var events: AsyncStream<WorkflowEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: WorkflowEvent.self)
    let core = core
    let listener = EventStream(continuation)
    continuation.onTermination = { [weak core, weak listener] _ in
      if let listener { core?.set(listener, isAdded: false) }
    }
    core.set(listener, isAdded: true)
    return stream
  }

  /// The progress of the workflow: tasks that have finished or were skipped, each by its
  /// weight.
  ///
  /// Its units are the weights. In a workflow with subworkflow tasks they are thousandths
  /// of the weights, and such a task counts by the finished share of its inner workflow.
  /// If the sum exceeds an `Int64`, both counts are divided by the same power of two.
  ///
  /// Cancelling the progress cancels the workflow. A `Progress` stays cancelled for good, so
  /// the next ``start(fileID:line:)``, ``retry(fileID:line:)`` or ``reset()`` replaces a
  /// cancelled one. On Linux the cancellation takes effect on another thread, at the latest
  /// before that call does. Otherwise every access returns the same object.
  public var progress: Progress {
    let (counter, isNew) = progressCounter()
    if isNew { Workflow.countInside(allTasks) }
    return counter.progress
  }

  /// Returns the counter behind the progress, and whether this call has made it.
  fileprivate func progressCounter() -> (WorkflowProgress, isNew: Bool) {
    if let existing = core.read({ $0.progress }) { return (existing, false) }
    let made = WorkflowProgress(of: self)
    // Other threads must not see an empty counter. What changes meanwhile is put right below.
    let known = core.read { state in state.tasks.map { WorkflowProgress.Known($0, state) } }
    made.add(known)
    // In one step: every later change reaches the counter as news.
    let (counter, changed) = core.change { state -> (WorkflowProgress, [WorkflowProgress.Known]?) in
      if let existing = state.progress { return (existing, nil) }
      state.progress = made
      let changed = state.tasks.enumerated().compactMap { i, task in
        let now = WorkflowProgress.Known(task, state)
        return i < known.count && known[i].hasFinished == now.hasFinished ? nil : now
      }
      return (made, changed)
    }
    if let changed { counter.add(changed, isComplete: true) }
    return (counter, changed != nil)
  }

  /// Makes counters for all inner workflows.
  ///
  /// Each counter reports to the next one outwards.
  ///
  /// No recursion: workflows may be nested deeply.
  fileprivate static func countInside(_ tasks: [AnyWorkflowTask]) {
    var next = tasks
    while let task = next.popLast() {
      guard let inner = task.nesting?.inner else { continue }
      if inner.progressCounter().isNew { next += inner.allTasks }
      task.core?.tellProgress(of: task)
    }
  }
}

extension WorkflowCore {
  /// Updates the progress, and that of the workflows around, after the workflow inside a task
  /// has changed.
  ///
  /// Goes on outwards only if the share has changed by a thousandth. An inner task
  /// therefore costs the workflows around it little; a deep nest costs as much as it is
  /// deep.
  func tellProgress(of task: AnyWorkflowTask) {
    var next: AnyWorkflowTask? = task
    while let task = next, let core = task.core {
      let (progress, owner) = core.read { ($0.progress, $0.owner?.task) }
      next = progress?.takePart(of: task) == true ? owner : nil
    }
  }

  /// Adds a new task to the progress.
  func taskWasAdded(_ task: AnyWorkflowTask) {
    let known = read { state in state.progress.map { ($0, WorkflowProgress.Known(task, state)) } }
    guard let (progress, added) = known else { return }
    progress.add([added])
    if task.nesting != nil { Workflow.countInside([task]) }
  }

  /// Drops a progress that was cancelled.
  ///
  /// It would stay cancelled, so the next run needs another.
  func dropCancelledProgress() {
    guard let old = read({ $0.progress }), old.progress.isCancelled else { return }
    cancelAll(becauseOf: old)
    let owner = change { state in
      if state.progress === old { state.progress = nil }
      return state.owner?.task
    }
    // The progress of the workflow around is computed from that of this one.
    guard let owner, let outer = owner.core, outer.read({ $0.progress != nil }) else { return }
    Workflow.countInside([owner])
  }
}

/// Counts the finished tasks.
final class WorkflowProgress: Sendable {
  let progress: Progress
  /// Whether the cancellation of the progress has reached the workflow.
  let hasCancelled = Atomic<Bool>(false)
  private let weights = Lock(Weights())

  private struct Weights {
    var all: [ObjectIdentifier: Int64] = [:]
    var finished: Set<ObjectIdentifier> = []
    /// The states of the tasks at the registration of the counter have been applied.
    var isComplete = false
    /// The tasks that have been in the news before their states were applied.
    var told: Set<ObjectIdentifier> = []
    /// How many thousandths of each subworkflow task have finished.
    var parts: [ObjectIdentifier: Int64] = [:]
    var hasParts = false
    // In thousandths; wider than any sum of weights.
    var total: Int128 = 0
    var done: Int128 = 0
    /// A thread writes to the progress.
    ///
    /// Only one at a time: Foundation's class is not thread-safe, and the last written
    /// value has to be the latest.
    var isPublishing = false
    var hasChanged = false

    private func counted(_ task: ObjectIdentifier) -> Int128 {
      let part = finished.contains(task) ? 1000 : parts[task, default: 0]
      return Int128(all[task, default: 0]) * Int128(part)
    }
    /// Changes the data of a task and updates the sum.
    private mutating func update(_ task: ObjectIdentifier, _ change: (inout Weights) -> Void) {
      done -= counted(task)
      change(&self)
      done += counted(task)
    }
    mutating func add(
      _ task: ObjectIdentifier, _ weight: Int64, hasParts isDivided: Bool, hasFinished: Bool
    ) {
      if isComplete, all[task] != nil { return }
      // News of the task may have arrived before its state, and is newer.
      let isTold = told.contains(task)
      let isNew = all[task] == nil
      update(task) { weights in
        weights.all[task] = weights.all[task] ?? weight
        if isTold { return }
        if hasFinished { weights.finished.insert(task) } else { weights.finished.remove(task) }
      }
      guard isNew else { return }
      total += Int128(weight) * 1000
      if isDivided { hasParts = true }
    }
    mutating func finish(_ task: ObjectIdentifier) {
      if !isComplete || all[task] == nil { told.insert(task) }
      update(task) { $0.finished.insert(task) }
    }
    mutating func reset(_ task: ObjectIdentifier) {
      if !isComplete || all[task] == nil { told.insert(task) }
      update(task) { $0.finished.remove(task) }
    }
    mutating func setPart(_ task: ObjectIdentifier, _ part: Int64) {
      update(task) { $0.parts[task] = part }
    }

    /// How many thousandths of the whole have finished.
    var part: Int64 { total > 0 ? Int64(done * 1000 / total) : 0 }

    /// The counts for Foundation: the sums, or the same fraction of both.
    var published: (done: Int64, total: Int64) {
      let unit: Int128 = hasParts ? 1 : 1000
      let (done, total) = (done / unit, total / unit)
      var shift = 0
      while total >> shift > Int64.max { shift += 1 }
      return (Int64(done >> shift), Int64(total >> shift))
    }
  }

  init(of workflow: Workflow) {
    progress = Progress(totalUnitCount: 0)
    progress.cancellationHandler = { [weak workflow, weak self] in
      if let workflow, let self { workflow.core.cancelAll(becauseOf: self) }
    }
  }

  /// A task at the moment from which on the counter hears of its changes.
  struct Known {
    let task: AnyWorkflowTask
    let hasFinished: Bool

    /// With the lock of the tree held.
    init(_ task: AnyWorkflowTask, _ state: borrowing WorkflowCore.State) {
      let end = state.graph[task.index].state
      (self.task, hasFinished) = (task, end == .finished || end == .skipped)
    }
  }

  /// - Parameter isComplete: Whether the counter then has all tasks of its registration, with
  ///   the states that they had at that moment.
  func add(_ tasks: [Known], isComplete: Bool = false) {
    let weighted = tasks.map { ($0, $0.task.progressWeight, $0.task.nesting != nil) }
    change { weights in
      for (known, weight, hasParts) in weighted {
        weights.add(
          ObjectIdentifier(known.task), weight, hasParts: hasParts, hasFinished: known.hasFinished)
      }
      if isComplete { (weights.isComplete, weights.told) = (true, []) }
    }
  }

  /// Counts a piece of news; `false` if it does not change how many tasks have finished.
  @discardableResult
  func tell(_ news: Delivery) -> Bool {
    switch news {
    case .finished(let task, _), .skipped(let task):
      change { $0.finish(ObjectIdentifier(task)) }
    case .reset(let task): change { $0.reset(ObjectIdentifier(task)) }
    case .started, .failed, .cancelled, .attemptFailed, .retried, .workflowFinished, .announced:
      return false
    }
    return true
  }

  /// Counts the share of a task's inner workflow.
  ///
  /// Of several threads, the last one to count sees whether its share is the present one.
  ///
  /// - Returns: Whether the counted share has changed.
  func takePart(of task: AnyWorkflowTask) -> Bool {
    let key = ObjectIdentifier(task)
    var hasChanged = false
    while true {
      let part = Self.part(of: task)
      if weights.withLock({ $0.parts[key, default: 0] == part }) { return hasChanged }
      change { $0.setPart(key, part) }
      hasChanged = true
    }
  }

  /// How many thousandths of a task's inner workflow have finished.
  private static func part(of task: AnyWorkflowTask) -> Int64 {
    task.nesting?.inner.core.read { $0.progress }?.weights.withLock { $0.part } ?? 0
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

  /// Returns the counts to publish; `nil` if nothing has changed, and then another thread
  /// may publish.
  private func takeChange() -> (done: Int64, total: Int64)? {
    weights.withLock { weights in
      weights.isPublishing = weights.hasChanged
      guard weights.hasChanged else { return nil }
      weights.hasChanged = false
      return weights.published
    }
  }
}
