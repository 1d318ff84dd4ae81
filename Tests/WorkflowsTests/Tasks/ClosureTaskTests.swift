import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Closure and method tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct ClosureTaskTests {
  @Test("44. a block gets its task, and ends it then or later, from any thread")
  func block() async throws {
    let workflow = Workflow(name: "w")
    let seen = Box<AnyWorkflowTask?>(nil)
    let now = try workflow.add(
      BlockWorkflowTask<Int>(name: "now") { task in
        seen.value = task.task
        task.finish(with: 1)
      })
    let later = try workflow.add(
      BlockWorkflowTask<Int>(name: "later") { task in
        DispatchQueue.global().async { task.finish(with: 2) }
      })
    let bad = try workflow.add(
      BlockWorkflowTask<Int>(name: "bad") { task in
        DispatchQueue.global().async { task.fail(with: TestError.first) }
      })
    let cancelled = try workflow.add(
      BlockWorkflowTask<Int>(name: "cancelled") { task in
        DispatchQueue.global().async { task.cancel() }
      })
    let outcome = try await workflow.run()
    #expect(now.result == 1 && later.result == 2 && seen.value === now)
    #expect(bad.error as? TestError == .first && cancelled.state == .cancelled)
    #expect(outcome.errors.count == 1)
  }

  private final class Controller: Sendable {
    let calls = Log<String>()
    func map(_ task: TaskWork<Int>) {
      calls.append(task.name)
      task.finish(with: ((task.anyPrerequisiteResult as? Int) ?? 0) * 2)
    }
    func mapTask(_ task: WorkflowTask<Int>) {
      calls.append(task.name)
      task.finish(with: ((task.anyPrerequisiteResult as? Int) ?? 0) * 3)
    }
    func later(_ task: WorkflowTask<Int>) {
      DispatchQueue.global().async { task.finish(with: 9) }
    }
  }

  @Test("45. a method task calls its target's method, with the run or the task")
  func method() async throws {
    let workflow = Workflow(name: "w")
    let controller = Controller()
    let a = try workflow.add(counting("a", result: 21))
    let b = try workflow.add(
      MethodWorkflowTask(name: "b", target: controller, method: Controller.map), prerequisites: a)
    let c = try workflow.add(
      MethodWorkflowTask(name: "c", target: controller, method: Controller.mapTask),
      prerequisites: b)
    let d = try workflow.add(
      MethodWorkflowTask(target: controller, method: Controller.later), prerequisites: c)
    #expect(try await workflow.run().isFinished)
    #expect(b.result == 42 && c.result == 126 && d.result == 9)
    #expect(controller.calls.entries == ["b", "c"])
  }

  @Test func `a method task outlives its workflow: what its method captures is released`()
    async throws
  {
    final class Target: Sendable {}
    let (tracker, target) = (LifetimeTracker(), Target())
    let task: MethodWorkflowTask<Target, Int>
    do {
      let (workflow, object) = (Workflow(name: "w"), tracker.make())
      task = MethodWorkflowTask(name: "t", target: target) { (_: Target) in
        { (run: TaskWork<Int>) in
          object.touch()
          run.finish(with: 1)
        }
      }
      try workflow.add(task)
      #expect(try await workflow.run().isFinished && tracker.alive == 1)
    }
    #expect(await eventually { tracker.alive == 0 })
    #expect(task.result == 1)
  }

  @Test("45. a method task does not keep its target, and fails when that is gone")
  func targetGone() async throws {
    let workflow = Workflow(name: "w")
    var controller: Controller? = Controller()
    let task = try workflow.add(
      MethodWorkflowTask(
        name: "map", target: try #require(controller), method: Controller.map))
    weak var released: Controller?
    released = controller
    controller = nil
    #expect(released == nil)
    let outcome = try await workflow.run()
    guard case .targetReleased(task)? = outcome.errors[task] as? WorkflowError else {
      Issue.record("\(outcome)")
      return
    }
  }

  @Test("46. returning finishes an async task, throwing fails it, cancellation cancels it")
  func async() async throws {
    let workflow = Workflow(name: "w")
    let good = try workflow.add(AsyncWorkflowTask<Int>(name: "good") { _ in 1 })
    let bad = try workflow.add(
      AsyncWorkflowTask<Int>(name: "bad") { _ in throw TestError.second })
    let swift = try workflow.add(
      AsyncWorkflowTask<Int>(name: "swift") { _ in throw CancellationError() })
    let ours = try workflow.add(
      AsyncWorkflowTask<Int>(name: "ours") { _ in throw ProperationsError.cancelled })
    let behind = try workflow.add(counting("behind"), prerequisites: swift)
    _ = try await workflow.run()
    #expect(good.result == 1 && bad.error as? TestError == .second)
    #expect(swift.state == .cancelled && ours.state == .cancelled && behind.state == .cancelled)
  }

  @Test("46. an async task's Swift task is cancelled by cancel, reset and timeout")
  func asyncCancellation() async throws {
    for way in 0..<3 {
      let clock = ManualClock()
      let workflow = Workflow(name: "w", clock: clock)
      let (started, cancelled) = (Event(), Event())
      let task = AsyncWorkflowTask<Int>(name: "t") { _ in
        started.signal()
        await withTaskCancellationHandler {
          try? await Task.sleep(for: .seconds(100))
        } onCancel: {
          cancelled.signal()
        }
        return 1
      }
      if way == 2 { task.timeout = .milliseconds(50) }
      try workflow.add(task)
      workflow.start()
      #expect(await started.opened())
      if way == 0 { task.cancel() }
      if way == 1 { task.reset() }
      if way == 2 {
        #expect(await eventually { clock.sleeping == 1 })
        clock.advance(by: .milliseconds(50))
      }
      #expect(await cancelled.opened())
      #expect(await eventually { task.state == [.cancelled, .ready, .failed][way] })
      #expect(task.result == nil)
    }
  }

  @Test("46. an async task that has returned is not cancelled: its dependents run there")
  func asyncReturned() async throws {
    let workflow = inlineWorkflow()
    let mayReturn = Event()
    let task = try workflow.add(
      AsyncWorkflowTask<Int>(name: "t") { _ in
        _ = await mayReturn.opened()
        return 1
      })
    let behind = try workflow.add(
      BlockWorkflowTask<Bool>(name: "behind") { $0.finish(with: Task.isCancelled) },
      prerequisites: task)
    let outcome = workflow.start()
    mayReturn.signal()
    #expect(try await outcome.value.isFinished)
    #expect(behind.result == false)
  }

  @Test("46. an async task that ends its run before it returns is cancelled then")
  func asyncGoesOn() async throws {
    let workflow = inlineWorkflow()
    let (mayFinish, cancelled) = (Event(), Event())
    let task = try workflow.add(
      AsyncWorkflowTask<Int>(name: "t") { run in
        _ = await mayFinish.opened()
        run.end(with: .success(1))
        await withTaskCancellationHandler {
          _ = await cancelled.opened()
        } onCancel: {
          cancelled.signal()
        }
        return 2
      })
    workflow.start()
    mayFinish.signal()
    #expect(await cancelled.opened())
    #expect(task.result == 1)
  }

  @Test("47. a block that lets go of its run without ending it is found out")
  func forgotten() async throws {
    let workflow = Workflow(name: "w")
    let direct = try workflow.add(BlockWorkflowTask<Int>(name: "direct") { _ in })
    let inCallback = try workflow.add(
      BlockWorkflowTask<Int>(name: "inCallback") { task in
        DispatchQueue.global().async { _ = task.isExecuting }
      })
    guard case .stuck(let waiting) = try await workflow.run() else {
      Issue.record("not stuck")
      return
    }
    #expect(waiting == [direct: [], inCallback: []])
    // A timeout ends it.
    workflow.reset()
    direct.timeout = .milliseconds(20)
    inCallback.timeout = .milliseconds(20)
    workflow.start()
    #expect(await eventually { direct.isFailed && inCallback.isFailed })
  }

  @Test("47. a run that is asked for with currentWork may be let go of")
  func currentWork() async throws {
    final class Asking: WorkflowTask<Int>, @unchecked Sendable {
      override func main() {
        _ = currentWork.isExecuting
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.02) { self.finish(with: 1) }
      }
    }
    let workflow = Workflow(name: "w")
    try workflow.add(Asking(name: "t"))
    #expect(try await workflow.run().isFinished)
  }
}
