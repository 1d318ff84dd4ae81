import Futures
import TestSupport
import Workflows

/// A real task of a seeded schedule, whatever its kind.
struct SeededTask {
  let task: AnyWorkflowTask
  /// Fulfils an external condition.
  private(set) var fulfill: (() -> Bool)?
  private let typed: WorkflowTask<Int>
  private let scripted: Scripted?

  /// The work of the run that goes on.
  var work: TaskWork<Int>? { typed.currentWork }

  func finish() -> Bool { typed.finish(with: 3) }

  init(_ kind: WorkflowModel.Kind, _ number: Int, holding object: Tracked) {
    let name = "\(number)"
    switch kind {
    case .condition(let waits):
      let condition = ExternalConditionTask<Int>(name: name, waitsForFulfillment: waits)
      typed = condition
      fulfill = { condition.fulfill(with: 2) }
      scripted = nil
    case .forgetful:
      typed = BlockWorkflowTask<Int>(name: name) { _ in object.touch() }
      scripted = nil
    default:
      let task = Scripted(name: name, kind, holding: object)
      if kind.attempts > 1 { task.retryPolicy = TaskRetryPolicy(attempts: kind.attempts) }
      typed = task
      scripted = task
    }
    task = typed
  }

  /// A task that was made elsewhere.
  init(_ task: WorkflowTask<Int>) {
    (self.task, typed, scripted) = (task, task, nil)
  }

  /// What is different in the model.
  func difference(from model: WorkflowModel.Task) -> String? {
    if task.state != model.state { return "is \(task.state), not \(model.state)" }
    if typed.result != nil, model.state != .finished { return "has a result" }
    if model.state == .finished, typed.result != model.result {
      return "has the result \(typed.result as Any), not \(model.result)"
    }
    if (task.error != nil) != (model.state == .failed) { return "has the wrong error" }
    let hasEnded = model.state == .finished || model.state == .failed
    if (task.finishDate != nil) != hasEnded { return "has the wrong date" }
    guard let scripted else { return nil }
    if let fault = scripted.faults.entries.first { return fault }
    let told = scripted.told.entries
    return told == model.told ? nil : "was told \(told), not \(model.told)"
  }

  /// A task that does what its kind says, and notes what it is told.
  private final class Scripted: WorkflowTask<Int>, @unchecked Sendable {
    // Sendable: nothing changes but what has locks.
    private let kind: WorkflowModel.Kind
    private let object: Tracked
    private let runs = Counter()
    let told = Log<String>()
    let faults = Log<String>()

    init(name: String, _ kind: WorkflowModel.Kind, holding object: Tracked) {
      self.kind = kind
      self.object = object
      super.init(name: name)
    }

    override func main() {
      runs.add()
      let early = prerequisiteTasks.filter { !$0.isFinished || $0.anyResult == nil }
      if !early.isEmpty { faults.append("runs before \(early.map(\.name))") }
      switch kind {
      case .finishing: finish(with: 1)
      case .failing: fail(with: TestError.first)
      case .flaky(let failures, _):
        if runs.value > failures { finish(with: 1) } else { fail(with: TestError.first) }
      default: break
      }
    }

    override func didStart() { told.append("start") }
    override func didCancel() { told.append("cancel") }
    override func didReset() { told.append("reset") }
    override func didRetry() { told.append("retry") }
    override func didFinish(with result: Int) { told.append("finish") }
    override func didFail(with error: any Error) { told.append("fail") }
  }
}
