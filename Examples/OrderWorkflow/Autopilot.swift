import Properations

/// Acts in place of the user: provides photos and metadata, and retries failed tasks.
final class Autopilot: WorkflowTaskDelegate {
  private let order: Order
  private let timeline: Timeline
  /// The maximum number of attempts of each step.
  private let attempts: Int

  init(order: Order, timeline: Timeline, attempts: Int = 3) {
    self.order = order
    self.timeline = timeline
    self.attempts = attempts
    for step in order.steps { step.task.delegate = self }
  }

  func start() {
    var delay = Duration.seconds(1)
    for step in order.steps where step.isCondition {
      timeline.after(delay) { if step.action == .provide { step.perform(.provide) } }
      delay += .milliseconds(1500)
    }
  }

  func task(_ task: AnyWorkflowTask, didFailWith error: any Error) {
    guard let step = order.step(of: task), step.attempts < attempts else { return }
    timeline.after(.seconds(1)) { task.retry() }
  }
}
