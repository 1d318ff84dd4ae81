import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("External conditions", .timeLimit(.minutes(5)), .oneAtATime)
struct ExternalConditionTests {
  @Test("48. an unfulfilled condition fails; fulfilling it retries it and what is behind it")
  func failure() async throws {
    let workflow = inlineWorkflow()
    let condition = try workflow.add(ExternalConditionTask<Int>(name: "c"))
    let behind = try workflow.add(counting("behind"), prerequisites: condition)
    #expect(!condition.isFulfilled && condition.state == .ready)
    let outcome = try await workflow.start().value
    guard
      case .externalConditionNotFulfilled(condition)? = outcome.errors[condition] as? WorkflowError
    else {
      Issue.record("\(outcome)")
      return
    }
    #expect(behind.state == .pending)
    behind.cancel()
    #expect(condition.fulfill(with: 5))
    #expect(condition.isFulfilled && condition.state == .finished && condition.result == 5)
    #expect(condition.error == nil && behind.state == .finished)
    #expect(!condition.fulfill(with: 6))
    #expect(condition.result == 5)
  }

  @Test("48. fulfilling a cancelled condition retries it too; retrying an unfulfilled one fails")
  func cancelled() throws {
    let workflow = inlineWorkflow()
    let condition = try workflow.add(ExternalConditionTask<Int>(name: "c"))
    condition.cancel()
    condition.retry()
    #expect(condition.state == .failed)
    condition.cancel()
    condition.retry()
    #expect(condition.state == .failed)
    condition.reset()
    condition.cancel()
    #expect(condition.state == .cancelled)
    condition.fulfill(with: 1)
    #expect(condition.state == .finished)
  }

  @Test("49. fulfilled while ready it starts, even if the workflow was not started")
  func ready() throws {
    let workflow = inlineWorkflow()
    let condition = try workflow.add(ExternalConditionTask<Int>(name: "c"))
    let behind = try workflow.add(counting("behind"), prerequisites: condition)
    condition.fulfill(with: 1)
    #expect(condition.state == .finished && behind.state == .finished)
  }

  @Test("49. fulfilled while pending it finishes as soon as its prerequisites do")
  func pending() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let condition = try workflow.add(ExternalConditionTask<Int>(name: "c"), prerequisites: a)
    condition.fulfill(with: 1)
    #expect(condition.state == .pending)
    workflow.start()
    a.finish(with: 1)
    #expect(condition.state == .finished && condition.result == 1)
  }

  @Test("49. a reset takes the fulfilment back, in every state")
  func reset() throws {
    let workflow = inlineWorkflow()
    let a = try workflow.add(OpenTask(name: "a"))
    let condition = try workflow.add(ExternalConditionTask<Int>(name: "c"), prerequisites: a)
    condition.fulfill(with: 1)
    condition.reset()
    #expect(!condition.isFulfilled && condition.state == .pending)
    workflow.start()
    a.finish(with: 1)
    #expect(condition.state == .failed)
    condition.fulfill(with: 2)
    #expect(condition.result == 2)
    // By way of a prerequisite, too.
    a.reset()
    #expect(!condition.isFulfilled && condition.result == nil && condition.state == .pending)
    condition.fulfill(with: 3)
    a.start()
    a.finish(with: 1)
    #expect(condition.result == 3)
    condition.cancel()
    #expect(condition.isFulfilled)
  }

  @Test("50. fulfilled before it is in a workflow it is remembered, unless it is reset")
  func outside() throws {
    let tracker = LifetimeTracker()
    let condition = ExternalConditionTask<Tracked>(name: "c")
    #expect(condition.fulfill(with: tracker.make()))
    #expect(condition.isFulfilled && condition.state == .ready)
    condition.reset()
    #expect(!condition.isFulfilled && tracker.alive == 0)
    condition.fulfill(with: tracker.make())
    condition.fulfill(with: tracker.make())
    #expect(tracker.alive == 1)
    let workflow = inlineWorkflow()
    try workflow.add(condition)
    workflow.start()
    #expect(condition.result != nil)
    workflow.reset()
    #expect(tracker.alive == 0)
    var dropped: ExternalConditionTask<Tracked>? = ExternalConditionTask(name: "d")
    dropped?.fulfill(with: tracker.make())
    dropped = nil
    #expect(tracker.alive == 0)
  }

  @Test("50. a fulfilment that races with its turn or with a reset is never lost")
  func races() async {
    let raced = await RaceHarness(threads: 3, rounds: 500).run {
      round -> (Workflow, ExternalConditionTask<Int>) in
      let workflow = inlineWorkflow()
      let condition = ExternalConditionTask<Int>(
        name: "c", waitsForFulfillment: round.isMultiple(of: 2))
      do { try workflow.add(condition) } catch { Issue.record(error) }
      return (workflow, condition)
    } act: { subject, thread in
      let (workflow, condition) = subject
      switch thread {
      case 0: condition.fulfill(with: 1)
      case 1: workflow.start()
      default: condition.reset()
      }
    } check: { subject, _ in
      let condition = subject.1
      // Either the reset came last, or the condition has finished.
      if condition.isFulfilled {
        #expect(condition.state == .finished && condition.result == 1)
      } else {
        #expect(condition.state != .finished && condition.result == nil)
        condition.fulfill(with: 2)
        #expect(condition.state == .finished && condition.result == 2)
      }
    }
    #expect(raced)
  }

  @Test("50. fulfilling, resetting and retrying from inside its own callbacks works")
  func reentrant() throws {
    final class Fulfiller: WorkflowDelegate {
      let finishes = Counter()
      func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
        (task as? ExternalConditionTask<Int>)?.fulfill(with: 1)
      }
      func workflowDidFinish(_ workflow: Workflow) {
        if finishes.add() < 3 {
          workflow.reset()
          workflow.start()
        }
      }
    }
    let workflow = inlineWorkflow()
    let fulfiller = Fulfiller()
    workflow.delegate = fulfiller
    let condition = try workflow.add(ExternalConditionTask<Int>(name: "c"))
    workflow.start()
    #expect(fulfiller.finishes.value == 3 && condition.state == .finished)
  }

  @Test("51. a waiting condition waits instead of failing, and takes nobody's place")
  func waiting() async throws {
    let workflow = Workflow(name: "w")
    workflow.maxConcurrentTaskCount = 1
    let listener = Listener()
    workflow.delegate = listener
    let condition = try workflow.add(
      ExternalConditionTask<Int>(name: "c", waitsForFulfillment: true))
    let behind = try workflow.add(counting("behind"), prerequisites: condition)
    let other = try workflow.add(counting("other"))
    let future = workflow.start()
    #expect(await eventually { other.isFinished && condition.isExecuting })
    #expect(!future.isFulfilled && behind.state == .pending)
    condition.fulfill(with: 1)
    #expect(try await future.value.isFinished)
    #expect(behind.isFinished && listener.log.entries == ["w finished"])
    // Cancelled or reset it waits no longer.
    workflow.reset()
    let again = workflow.start()
    #expect(await eventually { condition.isExecuting })
    condition.cancel()
    guard case .cancelled = try await again.value else {
      Issue.record("not cancelled")
      return
    }
  }

  @Test("a condition without a result is fulfilled with nothing")
  func void() throws {
    let workflow = inlineWorkflow()
    let condition = try workflow.add(ExternalConditionTask<Void>(name: "c"))
    condition.fulfill()
    #expect(condition.state == .finished)
  }

  @Test("a condition that was finished by hand is fulfilled: a later fulfilment is refused")
  func finishedByHand() throws {
    let workflow = inlineWorkflow()
    let condition = ExternalConditionTask<Int>(name: "c", waitsForFulfillment: true)
    try workflow.add(condition)
    workflow.start()
    #expect(condition.finish(with: 3))
    #expect(condition.isFulfilled)
    #expect(!condition.fulfill(with: 4))
    #expect(condition.result == 3)
    // What was refused is not remembered.
    condition.reset()
    #expect(!condition.isFulfilled)
    condition.start()
    #expect(condition.isExecuting)
    #expect(condition.fulfill(with: 5))
    #expect(condition.result == 5)
  }

  @Test("a condition that waits keeps its workflow, until the workflow is cancelled")
  func keepsItsWorkflow() throws {
    weak var kept: Workflow?
    do {
      let workflow = inlineWorkflow()
      kept = workflow
      try workflow.add(ExternalConditionTask<Int>(name: "c", waitsForFulfillment: true))
      workflow.start()
    }
    #expect(kept != nil)
    kept?.cancel()
    #expect(kept == nil)
  }
}
