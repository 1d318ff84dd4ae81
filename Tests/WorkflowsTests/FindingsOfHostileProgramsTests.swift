import Foundation
import Futures
import TestSupport
import Testing
import Workflows

/// Notes of each call whether it came on a thread that runs a Swift task.
private final class PoolObserver: WorkflowDelegate, Sendable {
  let isInTask = Log<Bool>()

  private func note() { isInTask.append(withUnsafeCurrentTask { $0 != nil }) }

  func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) { note() }
  func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) { note() }
  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) { note() }
  func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) { note() }
}

@Suite("Findings of hostile programs", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfHostileProgramsTests {
  // MARK: Explanations

  @Test func `the future of a run is explained: it names the line that started the run`()
    throws
  {
    let workflow = inlineWorkflow()
    let task = try workflow.add("task") { 1 }
    let lines: [UInt] = [#line, #line, #line].map { $0 + 1 }
    let futures = [workflow.start(), workflow.retry(), try workflow.start(only: task)]
    for (line, future) in zip(lines, futures) {
      let text = "FindingsOfHostileProgramsTests.swift:\(line)"
      #expect(future.explain().description.contains(text))
    }
  }

  @Test func `a workflow inside another one runs: the explanation says that its task executes`()
    throws
  {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let open = try inner.add(OpenTask(name: "open"))
    let around = try outer.add(SubworkflowTask(name: "around", subworkflow: inner))
    let run = outer.start()
    #expect(run.explain().description.contains(#""around" (executing)"#))
    #expect(around.future.explain().description.contains(#""around" executes."#))
    open.finish(with: 1)
    #expect(run.isFulfilled)
  }

  @Test func `a run waits for a fulfilment, or is paused: the explanation says so`() throws {
    let workflow = inlineWorkflow("w")
    let approval = ExternalConditionTask<Int>(name: "approval", waitsForFulfillment: true)
    try workflow.add(approval)
    let next = try workflow.add("next", after: approval) { $0 }
    let run = workflow.start()
    #expect(run.explain().description.contains(#""approval" (waits to be fulfilled)"#))
    #expect(approval.future.explain().description.contains("waits to be fulfilled."))
    workflow.pause()
    approval.fulfill(with: 1)
    #expect(run.explain().description.contains(#"The workflow "w" is paused."#))
    #expect(next.future.explain().description.contains("Its workflow is paused."))
    workflow.resume()
    #expect(run.result?.successValue == .finished)
  }

  // MARK: Threads

  @Test(arguments: [true, false])
  func `an awaited run calls its delegate outside Swift's pool`(isInline: Bool) async throws {
    let workflow = isInline ? inlineWorkflow() : Workflow(name: "w")
    let observer = PoolObserver()
    workflow.delegate = observer
    let first = try workflow.add("first") { 1 }
    let second = try workflow.add("second", after: first) { number async in number + 1 }
    try workflow.add("third", after: second) { $0 }
    #expect(try await workflow.run() == .finished)
    #expect(try await workflow.run(only: second) == .finished)
    #expect(observer.isInTask.entries == Array(repeating: false, count: 8))
  }

  @Test(arguments: [true, false])
  func `an awaited run is cancelled: it calls its delegate outside Swift's pool`(
    isInline: Bool
  ) async throws {
    let workflow = isInline ? inlineWorkflow() : Workflow(name: "w")
    let observer = PoolObserver()
    workflow.delegate = observer
    let condition = ExternalConditionTask<Int>(name: "c", waitsForFulfillment: true)
    try workflow.add(condition)
    let started = workflow.events
    let run = Task { try await workflow.run() }
    for await event in started where event == .taskDidStart(condition) { break }
    run.cancel()
    #expect(try await run.value == .cancelled([condition]))
    #expect(observer.isInTask.entries == [false, false, false])
  }
}
