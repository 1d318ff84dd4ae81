import ExampleSupport
import Foundation
import Properations
import Synchronization

/// Tells what becomes of each target, and sums up in the end.
final class Reporter: WorkflowDelegate {
  private struct State {
    var built = 0
    var upToDate = 0
    var failed = 0
    var names = 0
    var running: [AnyWorkflowTask] = []
  }

  private let graph: Graph
  private let count: Int
  private let state = Mutex(State())
  private let start = ContinuousClock.now
  private let showsProgress = Console.errors.isTerminal

  init(of graph: Graph) {
    self.graph = graph
    count = graph.workflow.allTasks.count
    graph.workflow.delegate = self
  }

  // MARK: While it runs

  func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) {
    state.withLock { $0.running.append(task) }
    drawProgress()
  }

  func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) {
    let work = graph.built(by: task)?.work ?? .nothing
    state.withLock { state in
      state.running.removeAll { $0 === task }
      switch work {
      case .nothing: state.names += 1
      case .done: state.upToDate += 1
      case .run: state.built += 1
      }
    }
    if case .run(let reason, let outcome) = work {
      tell("built ", outcome, "\(task.name) (\(reason))")
    }
    drawProgress()
  }

  func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
    state.withLock { state in
      state.running.removeAll { $0 === task }
      state.failed += 1
    }
    if let failure = error as? Builder.CommandFailed {
      tell("failed", failure.outcome, "\(task.name): \(failure.outcome.end)")
    } else {
      write("failed            \(task.name): \(error.message)\n")
    }
    drawProgress()
  }

  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) {
    state.withLock { state in state.running.removeAll { $0 === task } }
  }

  private func tell(_ verb: String, _ outcome: Shell.Outcome, _ text: String) {
    let output = outcome.output.split(whereSeparator: \.isNewline).map { "    | \($0)\n" }
    write("\(verb) \(outcome.duration.asText)  \(text)\n" + output.joined())
  }

  private func write(_ text: String) {
    eraseProgress()
    Console.output.write(text)
  }

  // MARK: In the end

  func sumUp(wasInterrupted: Bool) {
    eraseProgress()
    if wasInterrupted { Console.output.write("Interrupted. ") }
    let state = state.withLock { $0 }
    let notRun = count - state.names - state.built - state.upToDate - state.failed
    if state.built + state.failed + notRun == 0 {
      Console.output.write("Everything is up to date.\n")
      return
    }
    let elapsed = ContinuousClock.now - start
    Console.output.write(
      "\(state.built) built, \(state.upToDate) up to date, \(state.failed) failed, "
        + "\(notRun) not run, in\(elapsed.asText)\n")
    Console.output.write(criticalPath())
  }

  /// The commands that had to wait for one another and took longest together:
  /// no number of processors makes the build faster than that.
  private func criticalPath() -> String {
    let path = graph.workflow.traceSummary.criticalPath.filter { entry in
      if case .run? = graph.built(by: entry.task)?.work { return true }
      return entry.task.isFailed
    }
    guard !path.isEmpty else { return "" }
    let total = path.reduce(.zero) { $0 + $1.duration }
    let limit = 12
    var lines = ["Critical path,\(total.asText):"]
    lines += path.prefix(limit).map { "   \($0.duration.asText)  \($0.task.name)" }
    if path.count > limit { lines.append("    and \(path.count - limit) more") }
    return lines.map { $0 + "\n" }.joined()
  }

  // MARK: The line that says what runs

  private func drawProgress() {
    guard showsProgress else { return }
    let (done, running) = state.withLock { state in
      (state.names + state.built + state.upToDate + state.failed, state.running.map(\.name))
    }
    let line = "[\(done)/\(count)] \(running.joined(separator: " "))"
    Console.errors.write("\r\(line.prefix(79))\u{1B}[K")
  }

  private func eraseProgress() {
    if showsProgress { Console.errors.write("\r\u{1B}[K") }
  }
}

extension Shell.Outcome.End: CustomStringConvertible {
  var description: String {
    switch self {
    case .status(let status): "exit status \(status)"
    case .signal(let number): "ended by signal \(number)"
    }
  }
}

extension Duration {
  /// Seconds, with a blank before them.
  fileprivate var asText: String { String(format: " %.2f s", self / .seconds(1)) }
}
