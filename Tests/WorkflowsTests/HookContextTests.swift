import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing
import Workflows

/// A task that records its hooks, and whether each was called where it should be.
private final class Hooked: WorkflowTask<Int>, @unchecked Sendable {
  let log = Log<String>()
  let strays = Counter()
  private let isRight: @Sendable () -> Bool
  private let work: @Sendable (TaskWork<Int>) -> Void

  init(
    isRight: @escaping @Sendable () -> Bool = { true },
    work: @escaping @Sendable (TaskWork<Int>) -> Void
  ) {
    self.isRight = isRight
    self.work = work
    super.init(name: "hooked")
  }

  private func note(_ entry: String) {
    if !isRight() { strays.add() }
    log.append(entry)
  }

  override func main(_ run: TaskWork<Int>) { work(run) }
  override func didStart() { note("start") }
  override func didFinish(with result: Int) { note("finish \(result)") }
  override func didFail(with error: any Error) { note("fail") }
  override func didCancel() { note("cancel") }
  override func didSkip() { note("skip") }
  override func didReset() { note("reset") }
  override func didRetry() { note("retry") }
}

@Suite("Hooks in a context", .timeLimit(.minutes(5)), .oneAtATime)
struct HookContextTests {
  /// A workflow with one task, whose hooks have a context.
  private func workflow(
    of task: Hooked, hooksOn hooks: some ExecutionContext,
    _ workflow: Workflow = Workflow(name: "w")
  ) throws -> Workflow {
    task.callHooks(on: hooks)
    try workflow.add(task)
    return workflow
  }

  @Test("hooks that were given a queue are called there, in order, for every transition")
  func order() async throws {
    let queue = OperationQueue()
    let attempts = Counter()
    let task = Hooked(isRight: { OperationQueue.current === queue }) { run in
      if attempts.add() == 1 { run.fail(with: TestError.first) } else { run.finish(with: 7) }
    }
    let workflow = try workflow(of: task, hooksOn: queue)
    #expect(try await workflow.run().isFinished == false)
    #expect(try await workflow.retry().value.isFinished)
    workflow.reset()
    #expect(try await workflow.run().isFinished)
    let wanted = [
      "start", "fail", "retry", "start", "finish 7", "reset", "start", "finish 7",
    ]
    #expect(await eventually { task.log.count == wanted.count })
    #expect(task.log.entries == wanted)
    #expect(task.strays.value == 0)
  }

  @Test("hooks on the main queue are called as the main actor")
  func main() async throws {
    let task = Hooked(isRight: { MainActor.assumeIsolated { true } }) { $0.finish(with: 1) }
    let workflow = try workflow(of: task, hooksOn: .main)
    #expect(try await workflow.run().isFinished)
    #expect(await eventually { task.log.entries == ["start", "finish 1"] })
    #expect(task.strays.value == 0)
  }

  @Test("work and outcome do not wait for hooks whose context is busy; the calls keep the workflow")
  func lateContext() async throws {
    let context = ManualContext()
    let task = Hooked { $0.finish(with: 1) }
    task.callHooks(on: context)
    weak var released: Workflow?
    do {
      let workflow = Workflow(name: "w")
      released = workflow
      try workflow.add(task)
      #expect(try await workflow.run().isFinished)
    }
    #expect(task.log.count == 0)
    #expect(released != nil)
    context.runAll()
    #expect(task.log.entries == ["start", "finish 1"])
    #expect(await eventually { released == nil })
  }

  @Test("a task that was reset runs again only after its hook in a context has returned")
  func heldBack() async throws {
    let context = ManualContext()
    let runs = Counter()
    let task = Hooked { run in
      runs.add()
      run.finish(with: 1)
    }
    let workflow = try workflow(of: task, hooksOn: context)
    #expect(try await workflow.run().isFinished)
    workflow.reset()
    let outcome = workflow.start()
    #expect(await eventually { task.state == .ready })
    #expect(runs.value == 1)
    // The calls may come to the context only now.
    #expect(
      await eventually {
        context.runAll()
        return outcome.isSettled
      })
    #expect(try await outcome.value.isFinished)
    #expect(runs.value == 2)
    context.runAll()
    #expect(task.log.entries == ["start", "finish 1", "reset", "start", "finish 1"])
  }

  @Test("a context that drops its operations drops the calls, and the task runs again all the same")
  func dropped() async throws {
    let context = ManualContext()
    let task = Hooked { $0.finish(with: 1) }
    let workflow = try workflow(of: task, hooksOn: context)
    #expect(try await workflow.run().isFinished)
    workflow.reset()
    let outcome = workflow.start()
    #expect(context.dropAll() > 0)
    // More calls may come to the context.
    #expect(
      await eventually {
        context.dropAll()
        return outcome.isSettled
      })
    #expect(try await outcome.value.isFinished)
    #expect(task.log.count == 0)
  }

  @Test("a task of an inline workflow that is retried runs when its hook in a context returns")
  func inlineWorkflow() throws {
    let context = ManualContext()
    let attempts = Counter()
    let task = Hooked { run in
      if attempts.add() == 1 { run.fail(with: TestError.first) } else { run.finish(with: 1) }
    }
    let workflow = try workflow(
      of: task, hooksOn: context, Workflow(name: "w", context: .inline))
    workflow.start()
    let outcome = workflow.retry()
    #expect(attempts.value == 1)
    context.runAll()
    #expect(outcome.result?.successValue?.isFinished == true)
    #expect(attempts.value == 2)
    workflow.reset()
    let second = workflow.start()
    #expect(context.dropAll() > 0)
    #expect(second.result?.successValue?.isFinished == true)
    #expect(attempts.value == 3)
  }

  @Test("a task in no workflow gets messages: its hooks are called in their context")
  func outside() {
    let context = ManualContext()
    let task = Hooked { $0.finish(with: 1) }
    task.callHooks(on: context)
    task.cancel()
    task.reset()
    task.cancel()
    task.retry()
    #expect(task.log.count == 0 && task.isReady)
    context.runAll()
    #expect(task.log.entries == ["cancel", "reset", "cancel", "retry"])
  }

  @Test("an inline context calls the hooks where they would be called without one")
  func inline() async throws {
    let task = Hooked { $0.finish(with: 1) }
    let workflow = try workflow(
      of: task, hooksOn: .inline, Workflow(name: "w", context: .inline))
    workflow.start()
    #expect(task.log.entries == ["start", "finish 1"])
    task.reset()
    workflow.start()
    #expect(task.log.entries == ["start", "finish 1", "reset", "start", "finish 1"])
  }

  @Test(
    "tasks that are cancelled, skipped, failed and finished, with hooks on a busy queue, tell all")
  func kinds() async throws {
    let queue = OperationQueue()
    let tasks = [
      Hooked { $0.finish(with: 1) }, Hooked { $0.fail(with: TestError.first) },
      Hooked { $0.cancel() }, Hooked { $0.skip() },
    ]
    let workflow = Workflow(name: "w")
    for task in tasks {
      task.callHooks(on: queue)
      try workflow.add(task)
    }
    _ = try await workflow.run()
    for (task, end) in zip(tasks, ["finish 1", "fail", "cancel", "skip"]) {
      #expect(await eventually { task.log.entries == ["start", end] })
    }
  }
}
