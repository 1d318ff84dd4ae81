import Foundation
import Futures
import TestSupport
import Testing
import Workflows

/// The older name, without the warning that it is an older one.
typealias TaskRetryPolicy = RetryPolicy

extension WorkflowTaskState {
  /// The table, for a task that runs when all prerequisites have finished, and none of
  /// them was skipped.
  func transition(on message: TaskMessage, isUnblocked: Bool) -> TaskTransition? {
    transition(on: message, verdict: isUnblocked ? .runs : .waits)
  }
}

/// A context whose tasks run on the thread that makes them ready.
func inlineWorkflow(_ name: String = "test") -> Workflow { Workflow(name: name, context: .inline) }

/// A task that executes until somebody ends it from outside.
final class OpenTask: WorkflowTask<Int>, @unchecked Sendable {
  let runs = Counter()
  override func main() { runs.add() }
}

/// A task that notes its runs and finishes with a number.
func counting(_ name: String, _ runs: Counter = Counter(), result: Int = 1) -> BlockWorkflowTask<
  Int
> {
  BlockWorkflowTask<Int>(name: name) { task in
    runs.add()
    task.finish(with: result)
  }
}

/// A task that fails as often as it is told to, then finishes.
func failing(_ name: String, times: Int = .max, with error: TestError = .first)
  -> BlockWorkflowTask<Int>
{
  let runs = Counter()
  return BlockWorkflowTask<Int>(name: name) { task in
    if runs.add() > times { task.finish(with: 1) } else { task.fail(with: error) }
  }
}

/// Brings a task of its own into a state; in an inline workflow.
func bring(_ task: OpenTask, to state: WorkflowTaskState, in workflow: Workflow) throws {
  switch state {
  case .pending:
    let before = try workflow.add(OpenTask(name: "before"))
    try workflow.add(task, prerequisites: before)
  case .ready:
    try workflow.add(task)
  case .executing:
    try workflow.add(task)
    task.start()
  case .cancelled:
    try workflow.add(task)
    task.cancel()
  case .finished:
    try workflow.add(task)
    task.start()
    task.finish(with: 7)
  case .failed:
    try workflow.add(task)
    task.start()
    task.fail(with: TestError.first)
  case .skipped:
    try workflow.add(task)
    task.start()
    task.fail(with: TaskSkipped())
  }
  #expect(task.state == state)
}

/// Notes everything that a task's and a workflow's delegate are told.
final class Listener: WorkflowTaskDelegate, WorkflowDelegate {
  let log = Log<String>()

  func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable) {
    log.append("task \(task.name) finished \(result)")
  }
  func task(_ task: AnyWorkflowTask, didFailWith error: any Error) {
    log.append("task \(task.name) failed \(error)")
  }
  func taskDidCancel(_ task: AnyWorkflowTask) { log.append("task \(task.name) cancelled") }

  func workflowDidFinish(_ workflow: Workflow) { log.append("\(workflow.name) finished") }
  func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
    log.append("\(workflow.name): \(task.name) failed \(error)")
  }
  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) {
    log.append("\(workflow.name): \(task.name) cancelled")
  }
}

/// Notes the notifications of a center.
final class Postings: @unchecked Sendable {
  // Sendable: the observers are only touched by the test and the deinit.
  let log = Log<String>()
  private let center: NotificationCenter
  private var observers: [any NSObjectProtocol] = []

  init(_ center: NotificationCenter, of object: AnyObject? = nil) {
    self.center = center
    let names: [(Notification.Name, String)] = [
      (.taskDidStart, "start"), (.taskDidFinish, "finish"), (.taskDidFail, "fail"),
      (.taskDidCancel, "cancel"), (.taskDidReset, "reset"), (.taskDidRetry, "retry"),
      (.workflowWillStart, "willStart"), (.workflowWillCancel, "willCancel"),
      (.workflowWillReset, "willReset"), (.workflowWillRetry, "willRetry"),
      (.workflowDidFinish, "didFinish"), (.workflowTaskDidFail, "taskDidFail"),
      (.workflowTaskDidCancel, "taskDidCancel"),
    ]
    for (name, text) in names {
      observers.append(
        center.addObserver(forName: name, object: object, queue: nil) { [log] notification in
          let subject =
            (notification.object as? AnyWorkflowTask)?.name
            ?? (notification.object as? Workflow)?.name ?? "?"
          let task = (notification.userInfo?[Workflow.taskKey] as? AnyWorkflowTask)?.name
          log.append("\(text) \(subject)" + (task.map { " \($0)" } ?? ""))
        })
    }
  }

  deinit { for observer in observers { center.removeObserver(observer) } }
}
