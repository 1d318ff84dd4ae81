import ExampleSupport
import Foundation
import Properations
import Synchronization

/// Reports the result of each target, and sums up at the end.
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
  private let transcript: Transcript
  private let detail: Options.Detail
  private let state = Mutex(State())
  private let start = ContinuousClock.now
  private let showsProgress: Bool
  private let scope = CancellationScope()

  init(of graph: Graph, in transcript: Transcript, _ detail: Options.Detail) {
    self.graph = graph
    self.transcript = transcript
    self.detail = detail
    showsProgress = Console.errors.isTerminal && detail != .quiet
    count = graph.workflow.allTasks.count
    graph.workflow.delegate = self
    followLater()
  }

  // MARK: During the run

  func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) {
    state.withLock { $0.running.append(task) }
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
    switch work {
    case .run(let reason, let outcome):
      let line = "built  \(outcome.duration.asText)  \(task.name) (\(reason))"
      transcript.end(task.name, detail == .quiet ? nil : line)
    case .done where detail == .verbose: transcript.end(task.name, "up to date      \(task.name)")
    case .done, .nothing: break
    }
  }

  func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
    state.withLock { state in
      state.running.removeAll { $0 === task }
      state.failed += 1
    }
    if let failure = error as? Builder.CommandFailed {
      let duration = failure.outcome.duration.asText
      transcript.end(task.name, "failed \(duration)  \(task.name): \(failure.outcome.end)")
    } else {
      transcript.end(task.name, "failed          \(task.name): \(error.message)")
    }
  }

  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) {
    // The command may print more until it ends, so the transcript keeps the target.
    state.withLock { state in state.running.removeAll { $0 === task } }
  }

  /// Prints new output of the commands twenty times a second.
  private func followLater() {
    Promises.delay(for: .milliseconds(50)).cancelled(by: scope)
      .onSuccess(on: .global()) { [weak self] in
        guard let self, !self.scope.isCancelled else { return }
        self.transcript.follow(progress: self.showsProgress ? self.progress : nil)
        self.followLater()
      }
  }

  /// The line that names the running targets.
  private var progress: String {
    let (done, running) = state.withLock { state in
      (state.names + state.built + state.upToDate + state.failed, state.running.map(\.name))
    }
    let line = "[\(done)/\(count)] \(running.joined(separator: " "))"
    return String(line.prefix((Console.errors.size?.columns ?? 80) - 1))
  }

  // MARK: At the end

  func sumUp(wasInterrupted: Bool) {
    scope.cancel()
    transcript.close()
    guard detail != .quiet else { return }
    if wasInterrupted { transcript.say("Interrupted. ") }
    let state = state.withLock { $0 }
    let notRun = count - state.names - state.built - state.upToDate - state.failed
    if state.built + state.failed + notRun == 0 {
      transcript.say("Everything is up to date.\n")
      return
    }
    let elapsed = ContinuousClock.now - start
    transcript.say(
      "\(state.built) built, \(state.upToDate) up to date, \(state.failed) failed, "
        + "\(notRun) not run, in\(elapsed.asText)\n")
    transcript.say(criticalPath())
  }

  /// The longest chain of commands that waited for one another.
  ///
  /// More processors cannot make the build faster than this chain.
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
  /// The duration in seconds, with a leading blank.
  fileprivate var asText: String {
    let hundredths = Int((self / .milliseconds(10)).rounded())
    let fraction = hundredths % 100
    return " \(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) s"
  }
}
