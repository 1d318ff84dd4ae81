import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Work of subclasses", .timeLimit(.minutes(5)), .oneAtATime)
struct SubclassTests {
  /// Keeps its runs for the test, which ends them.
  private final class Kept: WorkflowTask<Int>, @unchecked Sendable {
    let runs = Box<[TaskWork<Int>]>([])
    override func main(_ run: TaskWork<Int>) { runs.value.append(run) }
  }

  /// Does with its run what it is told to, and then lets go of it.
  private final class Scripted: WorkflowTask<Int>, @unchecked Sendable {
    // Sendable: `script` never changes.
    private let script: @Sendable (Scripted, TaskWork<Int>) -> Void
    init(name: String, _ script: @escaping @Sendable (Scripted, TaskWork<Int>) -> Void) {
      self.script = script
      super.init(name: name)
    }
    override func main(_ run: TaskWork<Int>) { script(self, run) }
  }

  @Test("main(_:) ends its run then or later, from any thread, or through the task")
  func ends() async throws {
    let workflow = Workflow(name: "w")
    let tasks: [WorkflowTask<Int>] = [
      Scripted(name: "now") { $1.finish(with: 1) },
      Scripted(name: "later") { _, run in
        DispatchQueue.global().async { run.finish(with: 1) }
      },
      Scripted(name: "through the task") { task, _ in task.finish(with: 1) },
    ]
    for task in tasks { try workflow.add(task) }
    let failing = try workflow.add(Scripted(name: "failing") { $1.fail(with: TestError.first) })
    let cancelling = try workflow.add(Scripted(name: "cancelling") { $1.cancel() })
    let outcome = try await workflow.run()
    #expect(tasks.map { $0.result } == [1, 1, 1])
    #expect(failing.error as? TestError == .first && cancelling.state == .cancelled)
    #expect(outcome.errors.count == 1)
  }

  @Test("what a late callback of a cancelled run ends is not the run that goes on")
  func lateCallback() throws {
    let workflow = inlineWorkflow()
    let task = try workflow.add(Kept(name: "t"))
    task.start()
    task.cancel()
    task.retry()
    let (first, second) = (task.runs.value[0], task.runs.value[1])
    #expect(!first.isExecuting && second.isExecuting)
    #expect(!first.finish(with: 1) && !first.fail(with: TestError.first))
    first.cancel()
    #expect(task.state == .executing)
    #expect(second.finish(with: 2) && task.result == 2)
    task.reset()
    task.start()
    #expect(!second.finish(with: 3) && task.state == .executing)
    #expect(task.runs.value[2].finish(with: 4) && task.result == 4)
    // (Each run keeps the task.)
    task.runs.value = []
  }

  @Test("a run that main(_:) lets go of unfinished is stuck, as that of a block is")
  func forgotten() async throws {
    let workflow = Workflow(name: "w")
    let forgetful = try workflow.add(Scripted(name: "forgetful") { _, _ in })
    let later = try workflow.add(
      Scripted(name: "later") { _, run in
        DispatchQueue.global().async { _ = run.isExecuting }
      })
    let behind = try workflow.add(counting("behind"), prerequisites: forgetful)
    guard case .stuck(let waiting) = try await workflow.run() else {
      Issue.record("not stuck")
      return
    }
    #expect(waiting == [forgetful: [], later: [], behind: [forgetful]])
    #expect(forgetful.finish(with: 1) && behind.state != .pending)
    workflow.reset()
    forgetful.timeout = .milliseconds(20)
    later.timeout = .milliseconds(20)
    _ = try await workflow.run()
    #expect(forgetful.isFailed && later.isFailed)
  }

  @Test("a retry policy gives main(_:) a run for each attempt")
  func attempts() async throws {
    let workflow = Workflow(name: "w")
    let task = Scripted(name: "t") { _, run in
      if run.attempt == 3 { run.finish(with: run.attempt) } else { run.fail(with: TestError.first) }
    }
    task.retryPolicy = TaskRetryPolicy(attempts: 3)
    try workflow.add(task)
    #expect(try await workflow.run().isFinished)
    #expect(task.result == 3)
  }

  /// Work of the older form, some of which comes back later.
  private final class Older: WorkflowTask<Int>, @unchecked Sendable {
    let begins = Counter()
    override func main() {
      switch begins.add() {
      case 1: finish(with: 1)
      case 2: fail(with: TestError.first)
      default: break
      }
    }
  }

  @Test("main() of an older subclass still does the work, and may end it later through the task")
  func older() async throws {
    let workflow = inlineWorkflow()
    let task = try workflow.add(Older(name: "t"))
    workflow.start()
    #expect(task.result == 1)
    workflow.reset()
    workflow.start()
    #expect(task.error as? TestError == .first)
    let outcome = workflow.retry()
    #expect(task.state == .executing && !outcome.isFinished)
    #expect(task.finish(with: 3))
    #expect(try await outcome.value.isFinished)
  }

  /// Has both forms, as a subclass of an older class may.
  private class Both: WorkflowTask<String>, @unchecked Sendable {
    override func main() { finish(with: "main()") }
  }
  private final class Newer: Both, @unchecked Sendable {
    override func main(_ run: TaskWork<String>) { run.finish(with: "main(_:)") }
  }
  private final class Calling: Both, @unchecked Sendable {
    override func main(_ run: TaskWork<String>) { super.main(run) }
  }

  @Test("where both forms are overridden, main(_:) is called, and its default calls main()")
  func both() async throws {
    let workflow = inlineWorkflow()
    let tasks: [WorkflowTask<String>] = [Both(), Newer(), Calling()]
    for task in tasks { try workflow.add(task) }
    workflow.start()
    #expect(tasks.map { $0.result } == ["main()", "main(_:)", "main()"])
  }

  @Test("without work a task finishes with nothing, where there is such a result")
  func noWork() async throws {
    let workflow = inlineWorkflow()
    let nothing = try workflow.add(WorkflowTask<Void>(name: "nothing"))
    let none = try workflow.add(WorkflowTask<Int?>(name: "none"))
    let number = try workflow.add(WorkflowTask<Int>(name: "number"))
    workflow.start()
    #expect(nothing.isFinished && none.isFinished && none.result == .some(nil))
    guard case .noWork(number)? = number.error as? WorkflowError else {
      Issue.record("\(String(describing: number.error))")
      return
    }
  }

  @available(*, deprecated)
  @Test("main() that other code calls does not end the run of a task of the library")
  func calledByHand() throws {
    let workflow = inlineWorkflow()
    let runs = Log<TaskWork<Int>>()
    let task = try workflow.add(BlockWorkflowTask<Int>(name: "t") { runs.append($0) })
    workflow.start()
    task.main()
    #expect(task.state == .executing && runs.count == 1)
    #expect(runs.entries[0].finish(with: 1) && task.result == 1)
  }
}
