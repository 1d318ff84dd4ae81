import Foundation
import Futures

extension Workflow {
  /// The last run of the workflow as Chrome trace JSON, which Perfetto opens.
  ///
  /// The trace has one event for each attempt of each task that has begun in that run, in as many
  /// lanes as tasks ran at the same time. A run in which no task began, such as that of a
  /// finished workflow, does not count. An event contains the task's state, the number of its
  /// runs, its prerequisites and the number of the attempt. Attempts that failed and were
  /// followed by another have the state "Failed" and their error; of a task's failed attempts,
  /// the last hundred have events. Times are in microseconds since the first beginning. An
  /// executing task is shown as running until now. An inner workflow whose task has begun follows
  /// as a process of its own, named after the task.
  public var trace: String {
    let now = WorkflowClock.now
    let snapshot = Snapshot(of: self)
    let summary = TraceSummary(of: snapshot, now: now)
    return TraceText.json(processes(of: snapshot, now: now), summary: summary.description)
  }

  /// The workflow and the inner workflows whose tasks have begun, each a process.
  fileprivate func processes(of snapshot: Snapshot, now: UInt64) -> [TraceProcess] {
    var (snapshots, next) = ([(name: snapshot.name, snapshot: snapshot)], 0)
    while next < snapshots.count {
      let outer = snapshots[next].snapshot
      next += 1
      for task in outer.tasks where task.began > 0 {
        guard let inner = task.task.nesting?.inner else { continue }
        // The run around goes on when its task tries again, but that begins a run inside.
        snapshots.append((task.task.name, Snapshot(of: inner, since: task.firstBegan)))
      }
    }
    return snapshots.map { name, snapshot in
      TraceProcess(name: name, slices: slices(of: snapshot, now: now))
    }
  }

  /// Returns the attempts that have begun, in the order in which they began.
  private func slices(of snapshot: Snapshot, now: UInt64) -> [TraceSlice] {
    var slices: [TraceSlice] = []
    for task in snapshot.tasks where task.began > 0 {
      for attempt in task.failedAttempts {
        slices.append(
          snapshot.slice(
            of: task, attempt: attempt.number, began: attempt.began,
            duration: attempt.ended &- attempt.began, state: .failed, error: attempt.error))
      }
      slices.append(
        snapshot.slice(
          of: task, attempt: (task.failedAttempts.last?.number ?? 0) + 1, began: task.began,
          duration: task.duration(now: now), state: task.state))
    }
    return slices.sorted { $0.began < $1.began }
  }

  /// The critical path and the slowest tasks of the last run.
  public var traceSummary: TraceSummary {
    TraceSummary(of: Snapshot(of: self), now: WorkflowClock.now)
  }
}

extension TraceRecorder {
  /// Adds the last run of a workflow to the recording, as it stands at this moment.
  ///
  /// The attempts of its tasks appear as in ``Workflow/trace``, beside the closures and the
  /// typed tasks that ran at the same time. Call it after the run, whether the recorder was
  /// started or not; an attempt that executes is shown as running until now. Each call adds
  /// the run again.
  ///
  /// - Parameter workflow: The workflow.
  /// - Complexity: O(*n* log *n*) in the number of attempts and prerequisites.
  public func add(_ workflow: Workflow) {
    add(workflow.processes(of: Snapshot(of: workflow), now: WorkflowClock.now))
  }
}

extension Snapshot {
  /// One attempt of a task, as a trace shows it.
  fileprivate func slice(
    of task: Task, attempt: Int, began: UInt64, duration: UInt64, state: WorkflowTaskState,
    error: (any Error)? = nil
  ) -> TraceSlice {
    let waited = task.prerequisites.map { JSONText.quoted(tasks[$0].task.name) }
    var details = [
      ("state", JSONText.quoted(state.description)), ("runs", "\(task.runs)"),
      ("attempt", "\(attempt)"),
    ]
    if let error { details.append(("error", JSONText.quoted(shortText(of: error)))) }
    details.append(("prerequisites", "[\(waited.joined(separator: ","))]"))
    return TraceSlice(
      category: "task", name: task.task.name, began: began, ended: began + duration,
      details: details)
  }
}

/// How the time of a workflow's last run was spent.
///
/// The last run consists of the tasks that have begun in it. Tasks that finished in an
/// earlier run do not count, and neither does a run in which no task began.
public struct TraceSummary: Sendable, CustomStringConvertible {
  /// A task and its duration.
  public struct Entry: Sendable {
    /// The task.
    public let task: AnyWorkflowTask
    /// How long the task took, or has taken until now.
    ///
    /// This includes all attempts and the waits between them, because dependents wait for
    /// these as well.
    public let duration: Duration
  }

  /// The chain of dependent tasks whose runs took longest together.
  ///
  /// The whole run gets faster only if this chain does.
  public let criticalPath: [Entry]
  /// How long the critical path took, without the time between its tasks.
  public let criticalPathDuration: Duration
  /// The tasks that took longest, at most ten, slowest first.
  public let slowestTasks: [Entry]
  /// The total duration of the work of all attempts of all tasks.
  public let totalWork: Duration
  /// The time from the first beginning to the last end.
  public let elapsed: Duration

  init(of snapshot: Snapshot, now: UInt64) {
    let tasks = snapshot.tasks
    let durations = tasks.map { $0.fullDuration(now: now) }
    func entry(_ i: Int) -> Entry {
      Entry(task: tasks[i].task, duration: .nanoseconds(Int64(clamping: durations[i])))
    }
    let (longest, before) = snapshot.longestPaths(durations)
    let ran = tasks.indices.filter { tasks[$0].began > 0 }
    var path: [Entry] = []
    // Of equally long paths, the one that ends last: it has the most tasks.
    var current = ran.max { (longest[$0], $0) < (longest[$1], $1) }
    criticalPathDuration = .nanoseconds(Int64(clamping: current.map { longest[$0] } ?? 0))
    while let i = current {
      if tasks[i].began > 0 { path.append(entry(i)) }
      current = before[i]
    }
    criticalPath = path.reversed()
    slowestTasks = ran.sorted { (durations[$0], $1) > (durations[$1], $0) }.prefix(10).map(entry)
    totalWork = .nanoseconds(Int64(clamping: tasks.reduce(0) { $0 &+ $1.work(now: now) }))
    let begin = ran.map { tasks[$0].firstBegan }.min() ?? 0
    let end = ran.map { tasks[$0].firstBegan + durations[$0] }.max() ?? 0
    elapsed = .nanoseconds(Int64(clamping: end - begin))
  }

  /// The summary as a few lines of text, for people.
  public var description: String {
    var lines = [
      "Elapsed \(text(elapsed)), work \(text(totalWork)), "
        + "critical path \(text(criticalPathDuration))"
    ]
    lines.append("Critical path:")
    lines += criticalPath.map { "  \(text($0.duration))  \($0.task.name)" }
    lines.append("Slowest tasks:")
    lines += slowestTasks.map { "  \(text($0.duration))  \($0.task.name)" }
    return lines.joined(separator: "\n")
  }

  private func text(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    return String(format: "%.3f ms", Double(seconds) * 1000 + Double(attoseconds) / 1e15)
  }
}

extension Snapshot {
  /// The longest path to the end of each task: how long it takes, and the task before the last
  /// one.
  ///
  /// A task that did not begin takes no time. A path leads through it if its dependent began
  /// because it waits in vain or was skipped. A task that finished in an earlier run ends a path.
  ///
  /// - Parameter durations: How long each task took.
  fileprivate func longestPaths(_ durations: [UInt64]) -> (longest: [UInt64], before: [Int?]) {
    var longest = durations
    var before: [Int?] = Array(repeating: nil, count: tasks.count)
    // When the last task of the path ended that has begun.
    var ends = tasks.indices.map { tasks[$0].firstBegan &+ durations[$0] }
    for i in order {
      let task = tasks[i]
      guard let last = lastBefore(task, longest, ends) else { continue }
      before[i] = last
      longest[i] += longest[last]
      if task.began == 0 { ends[i] = ends[last] }
    }
    return (longest, before)
  }

  /// The prerequisite through which the longest path leads to a task.
  ///
  /// - Parameters:
  ///   - longest: How long the path to each prerequisite takes.
  ///   - ends: When the last task of that path ended.
  private func lastBefore(_ task: Task, _ longest: [UInt64], _ ends: [UInt64]) -> Int? {
    let all = task.prerequisites
    if task.began > 0 {
      // A task may be given up, and its dependents may begin, while its prerequisites execute.
      let ended = all.filter { tasks[$0].began > 0 || ends[$0] <= task.firstBegan }
      return ended.max { longest[$0] < longest[$1] }
    }
    switch task.state {
    case .finished: return nil
    case .skipped: return all.max { longest[$0] < longest[$1] }
    default:
      // The first prerequisite that ended without a result decided.
      let others = all.filter { tasks[$0].state != .finished && ends[$0] > 0 }
      return others.min { ends[$0] < ends[$1] }
    }
  }
}
