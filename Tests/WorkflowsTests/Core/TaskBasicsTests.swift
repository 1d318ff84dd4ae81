import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Task basics", .timeLimit(.minutes(5)), .oneAtATime)
struct TaskBasicsTests {
  @Test("1. a new task is ready, in no workflow, and has nothing")
  func new() {
    let task = WorkflowTask<Int>()
    #expect(task.state == .ready && task.isReady)
    #expect(!task.isExecuting && !task.isCancelled && !task.isFinished && !task.isFailed)
    #expect(task.workflow == nil)
    #expect(task.prerequisiteTasks.isEmpty && task.dependentTasks.isEmpty)
    #expect(task.keyedPrerequisiteTasks.isEmpty && task.unkeyedPrerequisiteTasks.isEmpty)
    #expect(task.result == nil && task.error == nil && task.finishDate == nil)
    #expect(task.requiredPrerequisiteKeys.isEmpty)
    #expect(task.allPrerequisiteResults.isEmpty && task.anyPrerequisiteResult == nil)
  }

  @Test("1. a task in no workflow can be cancelled, retried and reset, but not run")
  func outside() {
    let task = OpenTask(name: "task")
    let listener = Listener()
    task.delegate = listener
    task.start()
    #expect(task.state == .ready && task.runs.value == 0)
    #expect(!task.finish(with: 1) && !task.fail(with: TestError.first))
    task.cancel()
    task.cancel()
    #expect(task.state == .cancelled)
    #expect(listener.log.entries == ["task task cancelled"])
    task.retry()
    #expect(task.state == .ready && task.runs.value == 0)
    task.cancel()
    task.reset()
    #expect(task.state == .ready)
  }

  @Test("2. a name is given, or made of type and address, and can be reset")
  func names() {
    let task = WorkflowTask<Int>()
    #expect(task.name.hasPrefix("WorkflowTask 0x"))
    let other = OpenTask()
    #expect(other.name.hasPrefix("OpenTask 0x"))
    #expect(task.name != WorkflowTask<Int>().name)
    let named = OpenTask(name: "näme 🙂")
    #expect(named.name == "näme 🙂")
    named.name = "other"
    #expect(named.name == "other")
    named.resetName()
    #expect(named.name.hasPrefix("OpenTask 0x"))
  }

  @Test("2. states and tasks have descriptions, and graphs recursive ones")
  func descriptions() throws {
    #expect(
      WorkflowTaskState.allCases.map(\.description) == [
        "Pending", "Ready", "Executing", "Cancelled", "Finished", "Failed", "Skipped",
      ])
    let workflow = inlineWorkflow("graph")
    let a = try workflow.add(OpenTask(name: "a"))
    let b = try workflow.add(OpenTask(name: "b"), prerequisites: a)
    let c = try workflow.add(OpenTask(name: "c"), prerequisites: a)
    try workflow.add(OpenTask(name: "d"), prerequisites: b, c)
    #expect(a.description.contains("name = a; state = Ready"))
    #expect(b.description.contains("OpenTask") && b.description.contains("Pending"))
    let lines = workflow.debugDescription.split(separator: "\n")
    #expect(lines.count == 6)
    #expect(lines[0].contains("name = graph"))
    #expect(lines[1].hasPrefix("   | <OpenTask"))
    #expect(lines[2].hasPrefix("   |    | <OpenTask") && lines[2].contains("name = b"))
    #expect(lines[3].hasPrefix("   |    |    | ") && lines[3].contains("name = d"))
    #expect(a.debugDescription.split(separator: "\n").count == 5)
  }

  @Test("3. default work finishes with nothing, where there is such a result")
  func defaultWork() throws {
    let workflow = inlineWorkflow()
    let void = try workflow.add(WorkflowTask<Void>(name: "void"))
    let optional = try workflow.add(WorkflowTask<Int?>(name: "optional"))
    let impossible = try workflow.add(WorkflowTask<Int>(name: "impossible"))
    workflow.start()
    #expect(void.state == .finished && void.result != nil)
    #expect(optional.state == .finished && optional.result == .some(nil))
    #expect(impossible.state == .failed)
    guard case .noWork(let task)? = impossible.error as? WorkflowError else {
      Issue.record("\(String(describing: impossible.error))")
      return
    }
    #expect(task === impossible)
  }

  @Test("4. prerequisites are known keyed, unkeyed and together, in order")
  func prerequisites() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(counting("a"))
    let b = try workflow.add(counting("b"))
    let c = try workflow.add(counting("c"))
    let task = try workflow.add(
      counting("task"), prerequisites: c, a, keyedPrerequisites: ["a": a, "again": a, "b": b])
    #expect(task.prerequisiteTasks == [c, a, b])
    #expect(task.unkeyedPrerequisiteTasks == [c])
    #expect(task.keyedPrerequisiteTasks == ["a": a, "again": a, "b": b])
    #expect(a.dependentTasks == [task] && b.dependentTasks == [task])
    #expect(workflow.prerequisites(for: task) == [c, a, b])
    #expect(workflow.unkeyedPrerequisites(for: task) == [c])
    #expect(workflow.keyedPrerequisites(for: task)?.count == 3)
    #expect(workflow.dependents(for: a) == [task])
  }

  @Test("5. a task runs in its own queue, or else in the workflow's")
  func queues() async throws {
    let (shared, own) = (OperationQueue(), OperationQueue())
    let workflow = Workflow(name: "queues", operationQueue: shared)
    func asking(_ name: String) -> BlockWorkflowTask<OperationQueue> {
      BlockWorkflowTask<OperationQueue>(name: name) { task in
        task.finish(with: OperationQueue.current ?? OperationQueue.main)
      }
    }
    let a = try workflow.add(asking("a"))
    let b = asking("b")
    b.operationQueue = own
    try workflow.add(b, prerequisites: a)
    let c = try workflow.add(asking("c"), prerequisites: b)
    #expect(a.operationQueue === shared && b.operationQueue === own)
    #expect(try await workflow.run().isFinished)
    #expect(a.result === shared && b.result === own && c.result === shared)
    c.operationQueue = own
    #expect(c.operationQueue === own)
    c.reset()
    #expect(try await workflow.run().isFinished)
    #expect(c.result === own)
    c.operationQueue = nil
    c.reset()
    #expect(try await workflow.run().isFinished)
    #expect(c.result === shared)
  }

  @Test("5. a task can run in a context of any kind")
  func contexts() async throws {
    let context = ManualContext()
    let workflow = Workflow(name: "contexts")
    let task = counting("task")
    task.setContext(context)
    try workflow.add(task)
    #expect(task.operationQueue == nil)
    let future = workflow.start()
    #expect(context.count == 1 && task.state == .ready)
    context.runAll()
    #expect(task.state == .finished)
    #expect(try await future.value.isFinished)
  }

  @available(*, deprecated)
  @Test("work and ends by hand of a task that is in no workflow change nothing, and say so")
  func endsOutside() throws {
    let task = counting("task")
    task.main()
    #expect(!task.finish(with: 1) && !task.fail(with: TestError.first))
    #expect(task.isReady && task.result == nil && task.error == nil)
    let workflow = inlineWorkflow()
    try workflow.add(task)
    task.main()
    #expect(!task.finish(with: 1) && task.isReady)
    workflow.start()
    #expect(task.result == 1)
  }
}
