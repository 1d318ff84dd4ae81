import Foundation

extension Workflow {
  /// The last run of the workflow as Chrome trace JSON, which Perfetto opens.
  ///
  /// The trace has one event for each attempt of each task that has begun since the
  /// workflow was last started or retried, in as many lanes as tasks ran at the same
  /// time. An event contains the task's state, the number of its runs, its prerequisites
  /// and the number of the attempt. Attempts that failed and were followed by another
  /// have the state "Failed" and their error. Times are in microseconds since the first
  /// beginning. An executing task is shown as running until now. An inner workflow whose
  /// task has begun follows as a process of its own, named after the task.
  public var trace: String {
    let now = WorkflowClock.now
    let snapshot = Snapshot(of: self)
    var (processes, next) = ([Process(name: snapshot.name, snapshot: snapshot)], 0)
    while next < processes.count {
      let outer = processes[next]
      next += 1
      for task in outer.snapshot.tasks where task.began > 0 {
        guard let inner = task.task.nesting?.inner else { continue }
        processes.append(Process(name: task.task.name, snapshot: Snapshot(of: inner)))
      }
    }
    let slices = processes.map { self.slices(of: $0.snapshot, now: now) }
    let origin = slices.compactMap(\.first?.began).min() ?? 0
    var events: [String] = []
    for (number, process) in processes.enumerated() {
      events.append(
        #"{"name":"process_name","ph":"M","pid":\#(number + 1),"tid":0,"#
          + #""args":{"name":\#(json(process.name))}}"#)
      append(slices[number], of: process.snapshot, number + 1, from: origin, to: &events)
    }
    let summary = TraceSummary(of: snapshot, now: now)
    return #"{"traceEvents":["# + "\n" + events.joined(separator: ",\n") + "\n"
      + #"],"displayTimeUnit":"ms","otherData":{"summary":\#(json(summary.description))}}"#
      + "\n"
  }

  /// Returns the attempts that have begun, in the order in which they began.
  private func slices(of snapshot: Snapshot, now: UInt64) -> [Slice] {
    var slices: [Slice] = []
    for (i, task) in snapshot.tasks.enumerated() where task.began > 0 {
      for attempt in task.failedAttempts {
        slices.append(
          Slice(
            task: i, attempt: attempt.number, began: attempt.began,
            duration: attempt.ended &- attempt.began, state: .failed, error: attempt.error))
      }
      slices.append(
        Slice(
          task: i, attempt: (task.failedAttempts.last?.number ?? 0) + 1, began: task.began,
          duration: task.duration(now: now), state: task.state, error: nil))
    }
    return slices.sorted { $0.began < $1.began }
  }

  private func append(
    _ slices: [Slice], of snapshot: Snapshot, _ process: Int, from origin: UInt64,
    to events: inout [String]
  ) {
    var lanes = Lanes()
    for slice in slices {
      let task = snapshot.tasks[slice.task]
      let lane = lanes.place(from: slice.began, to: slice.began + slice.duration)
      let error = slice.error.map { #","error":\#(json(shortText(of: $0)))"# } ?? ""
      let waited = task.prerequisites.map { json(snapshot.tasks[$0].task.name) }
      events.append(
        #"{"name":\#(json(task.task.name)),"cat":"task","ph":"X","pid":\#(process),"tid":\#(lane),"#
          + #""ts":\#(microseconds(slice.began - origin)),"#
          + #""dur":\#(microseconds(slice.duration)),"#
          + #""args":{"state":\#(json(slice.state.description)),"runs":\#(task.runs),"#
          + #""attempt":\#(slice.attempt)\#(error),"prerequisites":[\#(waited.joined(separator: ","))]}}"#
      )
    }
  }

  /// The critical path and the slowest tasks of the last run.
  public var traceSummary: TraceSummary {
    TraceSummary(of: Snapshot(of: self), now: WorkflowClock.now)
  }

  private func microseconds(_ nanoseconds: UInt64) -> String {
    let rest = String(nanoseconds % 1000)
    return "\(nanoseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
  }
}

/// A workflow, as a trace shows it.
private struct Process {
  let name: String
  let snapshot: Snapshot
}

/// One attempt of a task, as a trace shows it.
private struct Slice {
  let task: Int
  let attempt: Int
  let began: UInt64
  let duration: UInt64
  let state: WorkflowTaskState
  let error: (any Error)?
}

/// How the time of a workflow's last run was spent.
///
/// The last run consists of the tasks that have begun since the workflow was last started
/// or retried. Tasks that finished in an earlier run do not count.
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
    // The longest path to the end of each task, in topological order.
    var longest = durations
    var before: [Int?] = Array(repeating: nil, count: tasks.count)
    for i in snapshot.order where tasks[i].began > 0 {
      if let last = tasks[i].prerequisites.max(by: { longest[$0] < longest[$1] }) {
        before[i] = last
        longest[i] += longest[last]
      }
    }
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

/// Rows in which intervals do not overlap.
private struct Lanes {
  /// Free lanes by number, and busy lanes by their ends, as heaps.
  private var busy: [(end: UInt64, lane: Int)] = []
  private var free: [Int] = []
  private var count = 0

  mutating func place(from begin: UInt64, to end: UInt64) -> Int {
    while let first = busy.first, first.end <= begin {
      Heap.removeFirst(&busy) { $0.end < $1.end }
      Heap.insert(first.lane, into: &free) { $0 < $1 }
    }
    let lane: Int
    if let first = free.first {
      Heap.removeFirst(&free) { $0 < $1 }
      lane = first
    } else {
      count += 1
      lane = count
    }
    Heap.insert((end, lane), into: &busy) { $0.end < $1.end }
    return lane
  }
}

private enum Heap {
  static func insert<T>(_ new: T, into heap: inout [T], _ precedes: (T, T) -> Bool) {
    heap.append(new)
    var i = heap.count - 1
    while i > 0, precedes(heap[i], heap[(i - 1) / 2]) {
      heap.swapAt(i, (i - 1) / 2)
      i = (i - 1) / 2
    }
  }

  static func removeFirst<T>(_ heap: inout [T], _ precedes: (T, T) -> Bool) {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var i = 0
    while true {
      var first = i
      for child in [2 * i + 1, 2 * i + 2] where child < heap.count {
        if precedes(heap[child], heap[first]) { first = child }
      }
      if first == i { return }
      heap.swapAt(i, first)
      i = first
    }
  }
}

/// Returns a string literal of JSON.
private func json(_ text: String) -> String {
  var result = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": result += "\\\""
    case "\\": result += "\\\\"
    case "\n": result += "\\n"
    case "\r": result += "\\r"
    case "\t": result += "\\t"
    case "\u{0}"..<" ", "\u{7F}", "\u{2028}", "\u{2029}":
      let hex = String(scalar.value, radix: 16)
      result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + "\""
}
