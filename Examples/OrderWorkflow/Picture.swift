import ExampleSupport
import Foundation
import Properations

/// The lines that the terminal shows.
struct Picture {
  let order: Order
  let now: Duration
  /// The effect of the last key.
  let message: String
  let isColoured: Bool

  private static let barWidth = 20

  var lines: [String] {
    let workflow = order.workflow
    let time = String(format: "%.1f s", now / .seconds(1))
    // The workflow makes this object at the first access and keeps it up to date.
    let done = workflow.progress.fractionCompleted
    return [styled("\(workflow.name)", "1") + "   \(bar(done))   \(time)", ""]
      + order.steps.map(row)
      + ["", styled(message, "2"), styled("1-7: the task's action   \(Self.keys)", "2")]
  }

  private static let keys = "s: start   c: cancel   r: retry   x: reset   q: leave"

  private func row(_ step: Step) -> String {
    let task = step.task
    let state = (step.isCondition && task.isExecuting ? "Waiting" : "\(task.state)").padded(to: 9)
    let detail =
      switch task.state {
      case .finished: step.result ?? ""
      case .failed: task.error?.message ?? ""
      case .pending:
        "needs "
          + task.prerequisiteTasks.filter { !$0.isFinished }.map(\.name).joined(separator: ", ")
      case .executing where step.attempts > 1: "attempt \(step.attempts)"
      case .ready, .executing, .cancelled, .skipped: ""
      }
    let action = step.action.map { "[\(step.key)] \($0.rawValue)" } ?? ""
    return "\(task.name.padded(to: 14)) \(bar(step.progress)) "
      + styled(state, task.state.colour) + " " + action.padded(to: 12) + styled(detail, "2")
  }

  private func bar(_ fraction: Double) -> String {
    let full = Int((fraction * Double(Self.barWidth)).rounded(.down))
    let percent = String(format: "%3d %%", Int((fraction * 100).rounded(.down)))
    return String(repeating: "█", count: full)
      + String(repeating: "░", count: Self.barWidth - full) + " " + percent
  }

  private func styled(_ text: String, _ style: String) -> String {
    isColoured && !text.isEmpty ? "\u{1B}[\(style)m\(text)\u{1B}[0m" : text
  }
}

extension WorkflowTaskState {
  /// The colour as a parameter of the terminal's escape sequence.
  fileprivate var colour: String {
    switch self {
    case .pending: "2"
    case .ready: "36"
    case .executing: "33"
    case .cancelled: "35"
    case .finished: "32"
    case .failed: "31"
    case .skipped: "34"
    }
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(width - count, 0))
  }
}
