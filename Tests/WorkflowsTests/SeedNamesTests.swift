import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("The names of Task.framework", .timeLimit(.minutes(5)), .oneAtATime)
struct SeedNamesTests {
  @available(*, deprecated)
  final class Double: TSKTask<Int>, @unchecked Sendable {
    override func main() {
      guard let number = prerequisiteResult(forKey: "number") as? Int else {
        fail(with: TestError.first)
        return
      }
      finish(with: 2 * number)
    }
  }

  @available(*, deprecated)
  @Test("Workflows and tasks by their old names, with the labels of the documentation")
  func tasks() throws {
    let workflow = TSKWorkflow(name: "old", context: .inline)
    let number = TSKBlockTask<Int>(name: "number") { task in task.finish(with: 21) }
    let input = TSKExternalConditionTask<String>(name: "input")
    let inner = TSKWorkflow(name: "inner", context: .inline)
    let nested = TSKSubworkflowTask(subworkflow: inner)
    let double = Double(name: "double")

    try workflow.add(number, prerequisiteTasks: nil)
    try workflow.add(input, prerequisiteTasks: [number])
    try workflow.add(nested, prerequisiteTasks: [number, input])
    try workflow.add(double, keyedPrerequisiteTasks: ["number": number])
    let last = TSKBlockTask<Int>(name: "last") { task in
      task.finish(with: task.allPrerequisiteResults.count)
    }
    try workflow.add(
      last, prerequisiteTasks: [nested], keyedPrerequisiteTasks: ["double": double])
    let alone = TSKBlockTask<Int>(name: "alone") { task in task.finish(with: 0) }
    try workflow.add(alone, keyedPrerequisiteTasks: nil)

    #expect(number.prerequisiteTasks.isEmpty)
    #expect(nested.prerequisiteTasks == [number, input])
    #expect(double.keyedPrerequisiteTasks == ["number": number])
    #expect(last.unkeyedPrerequisiteTasks == [nested])
    #expect(last.keyedPrerequisiteTasks == ["double": double])

    workflow.start()
    #expect(double.result == 42)
    // As in Task.framework, an unfulfilled condition fails, and fulfilling it retries it.
    #expect(input.state == TSKTaskState.failed)
    input.fulfill(with: "text")
    #expect(nested.isFinished)
    #expect(last.result == 2)
    #expect(!workflow.hasUnfinishedTasks)
  }

  @available(*, deprecated)
  @Test("Old labels reject what the new ones reject")
  func rejected() throws {
    let workflow = inlineWorkflow()
    let (task, stranger) = (counting("task"), counting("stranger"))
    #expect(throws: WorkflowError.self) { try workflow.add(task, prerequisiteTasks: [stranger]) }
    #expect(throws: WorkflowError.self) {
      try workflow.add(task, keyedPrerequisiteTasks: ["stranger": stranger])
    }
    #expect(workflow.allTasks.isEmpty)
  }

  @available(*, deprecated)
  private final class Watcher: TSKTaskDelegate, TSKWorkflowDelegate {
    let log = Log<String>()

    func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable) {
      log.append("\(task.name) finished with \(result)")
    }

    func workflowDidFinish(_ workflow: Workflow) { log.append("\(workflow.name) finished") }
  }

  @available(*, deprecated)
  @Test("Delegates by their old names are told")
  func delegates() throws {
    let (workflow, watcher) = (inlineWorkflow("old"), Watcher())
    let task = try workflow.add(counting("task"))
    (task.delegate, workflow.delegate) = (watcher, watcher)
    workflow.start()
    #expect(watcher.log.entries == ["task finished with 1", "old finished"])
  }

  @available(*, deprecated)
  @Test("Notifications by their old names are those of today")
  func notifications() {
    let names: [(Notification.Name, Notification.Name)] = [
      (.TSKTaskDidStart, .taskDidStart),
      (.TSKTaskDidFinish, .taskDidFinish),
      (.TSKTaskDidFail, .taskDidFail),
      (.TSKTaskDidCancel, .taskDidCancel),
      (.TSKTaskDidReset, .taskDidReset),
      (.TSKTaskDidRetry, .taskDidRetry),
      (.TSKWorkflowWillStart, .workflowWillStart),
      (.TSKWorkflowWillCancel, .workflowWillCancel),
      (.TSKWorkflowWillReset, .workflowWillReset),
      (.TSKWorkflowWillRetry, .workflowWillRetry),
      (.TSKWorkflowDidFinish, .workflowDidFinish),
      (.TSKWorkflowTaskDidFail, .workflowTaskDidFail),
      (.TSKWorkflowTaskDidCancel, .workflowTaskDidCancel),
    ]
    for (old, new) in names { #expect(old == new) }
    #expect(Set(names.map(\.0)).count == names.count)
  }

  @available(*, deprecated)
  @Test("An observer of the old name gets the task by the old key")
  func key() throws {
    let center = NotificationCenter()
    let workflow = Workflow(name: "old", context: .inline, notificationCenter: center)
    let task = try workflow.add(failing("task"))
    let seen = Log<String>()
    let observer = center.addObserver(
      forName: .TSKWorkflowTaskDidFail, object: workflow, queue: nil
    ) { notification in
      let task = notification.userInfo?[TSKWorkflowTaskKey] as? AnyWorkflowTask
      seen.append(task?.name ?? "no task")
    }
    task.start()
    #expect(seen.entries == ["task"])
    center.removeObserver(observer)
  }
}
