import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

@Suite("Failures that come too late", .timeLimit(.minutes(5)), .oneAtATime)
struct LateFailureTests {
  /// A policy that waits before it stops.
  private final class SlowPolicy: Sendable {
    let (asked, mayAnswer) = (Event(), Event())
    var policy: RetryPolicy {
      RetryPolicy(attempts: 3) { [self] _, _ in
        asked.signal()
        mayAnswer.wait()
        return .stop
      }
    }
  }

  @Test func `reset while the policy is asked about a failure from outside: the next run goes on`()
    async throws
  {
    let workflow = Workflow(name: "w")
    let (works, slow, returned) = (Log<TaskWork<Int>>(), SlowPolicy(), Event())
    let task = BlockWorkflowTask<Int>(name: "t") { works.append($0) }
    task.retryPolicy = slow.policy
    try workflow.add(task)
    workflow.start()
    #expect(await eventually { works.count == 1 })
    let hasFailed = Box(true)
    Thread {
      hasFailed.value = task.fail(with: TestError.first)
      returned.signal()
    }.start()
    #expect(await slow.asked.opened())
    task.reset()
    let run = workflow.start()
    #expect(await eventually { works.count == 2 })
    slow.mayAnswer.signal()
    #expect(await returned.opened())
    #expect(!hasFailed.value && task.isExecuting)
    works.takeAll().last?.finish(with: 2)
    #expect(try await run.value.isFinished && task.result == 2)
  }

  @Test func `a failure that is no longer wanted: the policy is not asked, and the next counts`()
    throws
  {
    let workflow = inlineWorkflow()
    let asked = Counter()
    let task = OpenTask(name: "t")
    task.retryPolicy = RetryPolicy(attempts: 3) { _, _ in
      asked.add()
      return .stop
    }
    try workflow.add(task)
    workflow.start()
    let core = try #require(task.core)
    #expect(!core.fail(task, run: nil, with: TestError.first, isTimeout: true) { _ in false })
    #expect(asked.value == 0)
    #expect(task.fail(with: TestError.second) && task.error as? TestError == .second)
  }

  @Test func `a failure inside is retried while the policy outside is asked: the task finishes`()
    async throws
  {
    let (inner, outer) = (Workflow(name: "inner"), Workflow(name: "outer"))
    try inner.add(failing("bad", times: 1))
    #expect(try await !inner.run().isFinished)
    let (sub, slow) = (SubworkflowTask(name: "sub", subworkflow: inner), SlowPolicy())
    sub.retryPolicy = slow.policy
    try outer.add(sub)
    let run = outer.start()
    #expect(await slow.asked.opened())
    #expect(await inner.retry().completion.successValue?.isFinished == true)
    slow.mayAnswer.signal()
    #expect(try await run.value.isFinished && sub.isFinished)
  }

  @Test func `a task inside is retried and executes while the policy is asked: the task waits`()
    async throws
  {
    let (inner, outer) = (Workflow(name: "inner"), Workflow(name: "outer"))
    let bad = try inner.add(OpenTask(name: "bad"))
    inner.start()
    #expect(await eventually { bad.isExecuting })
    bad.fail(with: TestError.first)
    let (sub, slow) = (SubworkflowTask(name: "sub", subworkflow: inner), SlowPolicy())
    sub.retryPolicy = slow.policy
    try outer.add(sub)
    let run = outer.start()
    #expect(await slow.asked.opened())
    bad.retry()
    #expect(await eventually { bad.isExecuting })
    slow.mayAnswer.signal()
    #expect(await eventually { inner.core.read { $0.isRunning } })
    bad.finish(with: 1)
    #expect(try await run.value.isFinished && sub.isFinished)
  }
}
