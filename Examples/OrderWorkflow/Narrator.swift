import ExampleSupport
import Foundation
import Properations

/// Reports events in lines.
final class Narrator: WorkflowDelegate {
  private let order: Order
  private let timeline: Timeline
  private let console: Console

  init(order: Order, timeline: Timeline, console: Console) {
    self.order = order
    self.timeline = timeline
    self.console = console
    order.workflow.delegate = self
  }

  func say(_ text: String) {
    let seconds = String(format: "%6.2f s", timeline.now / .seconds(1))
    console.write("\(seconds)  \(text)\n")
  }

  func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) {
    guard let step = order.step(of: task) else { return }
    // A condition that is already fulfilled does not wait.
    if step.isCondition, task.isFinished { return }
    let attempt = step.attempts > 1 ? ", attempt \(step.attempts)" : ""
    say("\(task.name): \(step.isCondition ? "waiting" : "started")\(attempt)")
  }

  func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) {
    say("\(task.name): finished, \(order.step(of: task)?.result ?? "")")
  }

  func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
    say("\(task.name): failed, \(error.message)")
  }

  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) {
    say("\(task.name): cancelled")
  }

  func workflowDidFinish(_ workflow: Workflow) { say("All tasks have finished.") }
}
