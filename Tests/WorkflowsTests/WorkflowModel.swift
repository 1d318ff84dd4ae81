import TestSupport
import Workflows

/// What a workflow promises, on one thread, written down without its engine.
///
/// States follow from rules in words; what can be looked up is looked up anew
/// each time. Work happens when `work()` is called, in the order in which tasks
/// became ready.
struct WorkflowModel {
  enum Kind: Equatable {
    /// Executes until somebody ends it.
    case open
    case finishing, failing
    /// The same, and may try so often at a time.
    case stubborn(attempts: Int)
    /// Fails so often, and may try so often at a time.
    case flaky(failures: Int, attempts: Int)
    /// Returns, and nobody is left who could end it.
    case forgetful
    case condition(waits: Bool)
    /// Does what the one who drives the model says.
    case driven

    static func random(using generator: inout SeededGenerator) -> Kind {
      switch Int.random(in: 0..<12, using: &generator) {
      case 0...2: .open
      case 3: .stubborn(attempts: Int.random(in: 2...3, using: &generator))
      case 4, 5: .finishing
      case 6: .failing
      case 7:
        .flaky(
          failures: Int.random(in: 1...3, using: &generator),
          attempts: Int.random(in: 1...3, using: &generator))
      case 8: .forgetful
      default: .condition(waits: Bool.random(using: &generator))
      }
    }

    var attempts: Int {
      switch self {
      case .stubborn(let attempts), .flaky(_, let attempts): attempts
      default: 1
      }
    }
  }

  struct Task {
    let kind: Kind
    var state = WorkflowTaskState.ready
    var isHandedOver = false
    /// It executes, and nobody does anything about it.
    var isAbandoned = false
    /// It executes, and takes no room.
    var isWaiting = false
    var isFulfilled = false
    var runs = 0
    var failures = 0
    var result = 0
    var told: [String] = []

    mutating func leave(to new: WorkflowTaskState) {
      state = new
      (isHandedOver, isAbandoned, isWaiting) = (false, false, false)
    }
  }

  enum Message: String { case cancel, reset, retry }

  /// What those who look on from inside the library are told.
  enum News: Equatable {
    case failed(Int), cancelled(Int), allFinished
    /// A task that had finished was reset.
    case resultReset
  }
  enum Addition { case added, cycle, tooLate }

  private(set) var tasks: [Task] = []
  private var edges: [(from: Int, to: Int)] = []
  /// Those that are ready, and some that were, in the order in which they came.
  private var line: [Int] = []
  /// What has been told since somebody has taken it.
  var news: [News] = []
  /// The messages that have come to driven tasks since somebody has taken them,
  /// and whether they changed something.
  var heard: [(message: Message, changed: Bool)] = []
  var limit = Int.max
  var expectsOutcome = false

  // MARK: Looking

  func prerequisites(of task: Int) -> [Int] { edges.filter { $0.to == task }.map(\.from) }
  private func dependents(of task: Int) -> [Int] { edges.filter { $0.from == task }.map(\.to) }

  private func isUnblocked(_ task: Int) -> Bool {
    prerequisites(of: task).allSatisfy { tasks[$0].state == .finished }
  }

  /// Whether anything goes on by itself.
  var isActive: Bool {
    tasks.contains { $0.isHandedOver || $0.state == .executing && !$0.isAbandoned }
  }

  /// How it stands at rest.
  var outcome: String {
    func names(_ state: WorkflowTaskState) -> String {
      tasks.indices.filter { tasks[$0].state == state }.map { "\($0)" }.joined(separator: " ")
    }
    if tasks.allSatisfy({ $0.state == .finished }) { return "finished" }
    if tasks.contains(where: { $0.state == .failed }) { return "failed \(names(.failed))" }
    if tasks.contains(where: { $0.state == .cancelled }) { return "cancelled \(names(.cancelled))" }
    let rest = tasks.indices.filter { tasks[$0].state != .finished }
    return "stuck \(rest.map { "\($0)" }.joined(separator: " "))"
  }

  // MARK: Building

  mutating func add(_ kind: Kind, behind before: [Int]) {
    let number = tasks.count
    tasks.append(Task(kind: kind))
    for other in before { edges.append((other, number)) }
    if !isUnblocked(number) { tasks[number].leave(to: .pending) }
    if expectsOutcome { start(number) }
  }

  mutating func addEdge(from: Int, to: Int) -> Addition {
    if reached(from: [to]).contains(from) { return .cycle }
    if edges.contains(where: { $0 == (from, to) }) { return .added }
    if tasks[to].state == .executing || tasks[to].state == .finished { return .tooLate }
    edges.append((from, to))
    if tasks[to].state == .ready, !isUnblocked(to) { tasks[to].leave(to: .pending) }
    return .added
  }

  // MARK: Running

  private mutating func handOver(_ task: Int) {
    tasks[task].isHandedOver = true
    // (Who still stands in line from an earlier time keeps his place.)
    if !line.contains(task) { line.append(task) }
  }

  mutating func start(_ task: Int) {
    if tasks[task].state == .ready, !tasks[task].isHandedOver { handOver(task) }
  }

  mutating func startAll() { for task in tasks.indices { start(task) } }

  /// The context comes for what is ready, as long as there is room.
  ///
  /// - Returns: A driven task that has begun, before the next ones begin.
  @discardableResult
  mutating func work() -> Int? {
    while !line.isEmpty,
      tasks.count(where: { $0.state == .executing && !$0.isWaiting && !$0.isAbandoned }) < limit
    {
      let task = line.removeFirst()
      guard tasks[task].isHandedOver else { continue }
      tasks[task].leave(to: .executing)
      tasks[task].runs += 1
      tasks[task].told.append("start")
      switch tasks[task].kind {
      case .open, .stubborn: break
      case .finishing: end(task, with: 1)
      case .failing: _ = fail(task)
      case .flaky(let failures, _):
        if tasks[task].runs > failures { end(task, with: 1) } else { _ = fail(task) }
      case .forgetful: tasks[task].isAbandoned = true
      case .driven: return task
      case .condition(let waits):
        if tasks[task].isFulfilled {
          end(task, with: 2)
        } else if waits {
          tasks[task].isWaiting = true
        } else {
          _ = fail(task)
        }
      }
    }
    return nil
  }

  private mutating func end(_ task: Int, with result: Int) {
    tasks[task].leave(to: .finished)
    tasks[task].result = result
    tasks[task].failures = 0
    tasks[task].told.append("finish")
    for dependent in dependents(of: task)
    where tasks[dependent].state == .pending && isUnblocked(dependent) {
      tasks[dependent].leave(to: .ready)
      handOver(dependent)
    }
    if tasks.allSatisfy({ $0.state == .finished }) { news.append(.allFinished) }
  }

  /// Somebody finishes a task, or one run of it.
  mutating func finish(_ task: Int, run: Int? = nil, with result: Int? = nil) -> Bool {
    guard tasks[task].state == .executing, run == nil || tasks[task].runs == run else {
      return false
    }
    end(task, with: result ?? (run == nil ? 3 : 5))
    return true
  }

  mutating func fail(_ task: Int) -> Bool {
    guard tasks[task].state == .executing else { return false }
    tasks[task].failures += 1
    if tasks[task].failures < tasks[task].kind.attempts {
      tasks[task].told.append("retry")
      tasks[task].leave(to: .ready)
      handOver(task)
    } else {
      tasks[task].failures = 0
      tasks[task].told.append("fail")
      tasks[task].leave(to: .failed)
      news.append(.failed(task))
    }
    return true
  }

  mutating func fulfill(_ task: Int) -> Bool {
    if tasks[task].isFulfilled || tasks[task].state == .finished { return false }
    tasks[task].isFulfilled = true
    switch tasks[task].state {
    case .failed, .cancelled: send(.retry, to: [task])
    case .ready: start(task)
    case .executing: end(task, with: 2)
    case .pending, .finished, .skipped: break
    }
    return true
  }

  // MARK: Messages

  /// All that wait for some tasks, directly or not, and the tasks themselves.
  private func reached(from origins: [Int]) -> [Int] {
    var found = origins
    var next = 0
    while next < found.count {
      found += dependents(of: found[next]).filter { !found.contains($0) }
      next += 1
    }
    return found
  }

  /// To each that is reached, when all those before it have had it.
  mutating func send(_ message: Message, to origins: [Int]) {
    let reached = reached(from: origins)
    var done: [Int] = reached.filter { task in
      prerequisites(of: task).allSatisfy { !reached.contains($0) }
    }
    var next = 0
    while next < done.count {
      let task = done[next]
      next += 1
      hear(message, task)
      done += dependents(of: task).filter { dependent in
        !done.contains(dependent)
          && prerequisites(of: dependent).allSatisfy {
            !reached.contains($0) || done[..<next].contains($0)
          }
      }
    }
  }

  private mutating func hear(_ message: Message, _ task: Int) {
    if message == .reset { tasks[task].isFulfilled = false }
    let before = tasks[task].state
    let isOver = before == .finished || before == .failed || before == .cancelled
    let again: WorkflowTaskState = isUnblocked(task) ? .ready : .pending
    switch message {
    case .cancel where !isOver:
      tasks[task].leave(to: .cancelled)
      news.append(.cancelled(task))
    case .reset where before != .pending:
      tasks[task].leave(to: again)
      if before == .finished { news.append(.resultReset) }
    case .retry where isOver && before != .finished:
      tasks[task].leave(to: again)
      if again == .ready { handOver(task) }
    default:
      if tasks[task].kind == .driven { heard.append((message, false)) }
      return
    }
    if tasks[task].kind == .driven { heard.append((message, true)) }
    tasks[task].failures = 0
    tasks[task].told.append(message.rawValue)
  }
}
