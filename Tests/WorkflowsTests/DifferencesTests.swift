import Foundation
import Futures
import TestSupport
import Testing
import Workflows

/// The rows of the table "What is different" of the article about Task.framework.
@Suite("Differences from Task.framework", .timeLimit(.minutes(5)), .oneAtATime)
struct DifferencesTests {
  @available(*, deprecated)
  @Test("1. main() that other code calls does nothing; an inline workflow runs the work at once")
  func mainByHand() throws {
    final class Target: Sendable {
      let calls = Counter()
      func work(_ run: TaskWork<Int>) { run.finish(with: calls.add()) }
    }
    let (target, calls) = (Target(), Counter())
    let block = BlockWorkflowTask<Int>(name: "block") { $0.finish(with: calls.add()) }
    let method = MethodWorkflowTask(name: "method", target: target, method: Target.work)
    block.main()
    method.main()
    #expect(calls.value == 0 && target.calls.value == 0 && block.isReady && method.isReady)
    let workflow = inlineWorkflow()
    try workflow.add(block)
    try workflow.add(method)
    block.start()
    method.start()
    #expect(block.result == 1 && method.result == 1)
  }

  private final class Hooked: WorkflowTask<Void>, @unchecked Sendable {
    let told = Log<String>()
    override func didCancel() { told.append("cancel") }
    override func didReset() { told.append("reset") }
    override func didRetry() { told.append("retry") }
  }

  @Test("2. a message that changes nothing reaches the tasks behind, and no hook")
  func messages() throws {
    let workflow = inlineWorkflow()
    let first = try workflow.add(Hooked(name: "first"))
    let second = try workflow.add(Hooked(name: "second"), prerequisites: first)
    first.reset()
    first.retry()
    #expect(first.told.entries == ["reset"] && second.told.entries == [])
    second.cancel()
    first.retry()
    #expect(first.told.entries == ["reset"] && second.told.entries == ["cancel", "retry"])
  }

  @Test("3. a run that is let go of does not keep its workflow, and one that is held does")
  func lifetime() async throws {
    let listener = Listener()
    func begin(_ work: @escaping @Sendable (TaskWork<Int>) -> Void) throws -> WorkflowTask<Int> {
      let task = BlockWorkflowTask<Int>(name: "t", block: work)
      task.delegate = listener
      let workflow = inlineWorkflow()
      try workflow.add(task)
      withExtendedLifetime(workflow) { task.start() }
      return task
    }
    let forgotten = try begin { _ in }
    #expect(forgotten.workflow == nil && forgotten.state == .executing)
    #expect(!forgotten.finish(with: 1) && !forgotten.fail(with: TestError.first))
    forgotten.cancel()
    #expect(forgotten.state == .executing && listener.log.count == 0)

    let held = Box<TaskWork<Int>?>(nil)
    let kept = try begin { held.value = $0 }
    #expect(kept.workflow != nil && held.value?.finish(with: 1) == true)
    #expect(kept.result == 1 && listener.log.entries == ["task t finished 1"])
    held.value = nil
    #expect(await eventually { kept.workflow == nil } && kept.result == 1)
  }

  @Test("4. a method task does not keep its target; it says so when it runs, not when it is made")
  func targets() throws {
    final class Target: Sendable { func work(_ run: TaskWork<Int>) {} }
    let workflow = inlineWorkflow()
    let task = try workflow.add(MethodWorkflowTask(target: Target(), method: Target.work))
    workflow.start()
    guard case .targetReleased(task)? = task.error as? WorkflowError else {
      Issue.record("\(String(describing: task.error))")
      return
    }
  }

  @Test("5. a missing result and one that is not there yet are told apart by the type")
  func missingResults() throws {
    let workflow = inlineWorkflow()
    let missing = try workflow.add("missing") { () -> Int? in nil }
    let nothing = try workflow.add("nothing") {}
    let late = try workflow.add(OpenTask(name: "late"))
    let behind = try workflow.add(
      WorkflowTask<Void>(name: "behind"), prerequisites: missing, nothing, late)
    workflow.start()
    #expect(missing.result == .some(nil) && late.result == nil)
    // (What a task that has not finished has is no result of any type.)
    let results = behind.allPrerequisiteResults
    #expect(results[0] is Int? && results[1] is Void && results[2] == nil && results.count == 3)
  }

  @Test("6. a condition that was not fulfilled fails with an error that carries it")
  func conditions() throws {
    let workflow = inlineWorkflow()
    let condition = try workflow.add(ExternalConditionTask<Int>(name: "condition"))
    workflow.start()
    guard case .externalConditionNotFulfilled(condition)? = condition.error as? WorkflowError else {
      Issue.record("\(String(describing: condition.error))")
      return
    }
  }
}
