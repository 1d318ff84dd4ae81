import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks
import Workflows

@Suite("Recorders of workflows", .timeLimit(.minutes(5)), .alone)
struct RecorderTests {
  @Test func `one file has the closures, the tasks and the workflows, on one time line`()
    async throws
  {
    let recorder = TraceRecorder()
    recorder.start()
    let queue = TaskQueue()
    let typed = BlockProducerTask<Int, any Error> { _, finish in finish(.success(1)) }
    queue.addTask(typed)
    _ = try await typed.value
    let workflow = Workflow(name: "report \"daily\"")
    let load = try workflow.add("load") { 1 }
    try workflow.add("print", after: load) { $0 + 1 }
    _ = await workflow.start().completion
    recorder.add(workflow)
    recorder.stop()
    let events = try TraceEvent.all(in: recorder.json)
    let process = try #require(
      events.first { $0.phase == "M" && $0.arguments["name"] == "report \"daily\"" }?.process)
    let slices = events.filter { $0.process == process && $0.phase == "X" }
    #expect(slices.map(\.name) == ["load", "print"])
    #expect(slices.map { $0.arguments["state"] } == ["Finished", "Finished"])
    let task = try #require(
      events.first {
        $0.arguments["createdAt"]?.contains("RecorderTests") == true && $0.category == "task"
      })
    // The workflow began after the task had ended, by the same clock.
    #expect(task.time + task.duration <= slices[0].time)
  }

  @Test func `the parts of a recording are bounded as a whole`() async throws {
    let workflow = Workflow(name: "many")
    for number in 0..<30 { try workflow.add("\(number)") { number } }
    _ = await workflow.start().completion
    let recorder = TraceRecorder(limit: 10)
    recorder.add(workflow)
    recorder.add(workflow)
    #expect(recorder.count == 10)
    #expect(recorder.droppedCount == 50)
    #expect(try TraceEvent.all(in: recorder.json).count { $0.phase == "X" } == 10)
  }
}

@Suite("Explanations of workflows", .timeLimit(.minutes(5)), .oneAtATime)
struct WorkflowExplanationTests {
  private func reason(of future: AnyFuture) -> FutureExplanation.Reason? {
    future.explain().steps.last?.reasons.first
  }

  @Test func `the future of a task names what the task waits for, and what runs in front`()
    async throws
  {
    let workflow = Workflow(name: "w")
    let (begun, gate) = (Event(), Event())
    let load = try workflow.add("load\n\"it\"", on: .global()) { () -> Int in
      begun.signal()
      gate.wait()
      return 1
    }
    let parse = try workflow.add("parse", after: load) { $0 + 1 }
    let show = try workflow.add("show", after: parse) { $0 + 1 }
    let future = show.future
    let ready = load.future
    // A name that was set later is read under a lock of its own.
    parse.name = "parse"
    #expect(reason(of: ready)?.description.contains("is ready") == true)
    workflow.start()
    #expect(await begun.opened())
    let shown = try #require(reason(of: future.mapToVoid()))
    #expect(shown.kind == .workflow)
    #expect(
      shown.description
        == """
        The workflow task "show" waits for "parse" (pending). In front of these: \
        "load \\"it\\"" (executing).
        """)
    #expect(reason(of: parse.future)?.description.hasSuffix("(executing).") == true)
    #expect(reason(of: ready)?.description.hasSuffix("executes.") == true)
    gate.signal()
    #expect(try await future.value == 3)
    #expect(reason(of: future)?.kind == .settled)
  }

  @Test func `cancelling the future of a task leaves the task alone and is forgotten`()
    async throws
  {
    let workflow = Workflow(name: "w")
    let task = try workflow.add("task") { 1 }
    let (cancelled, other) = (task.future, task.future)
    cancelled.mapToVoid().cancel()
    #expect(cancelled.isCancelled)
    workflow.start()
    #expect(try await other.value == 1)
    #expect(task.isFinished)
  }

  @Test func `many tasks in front are counted, not listed`() throws {
    let workflow = Workflow(name: "w")
    let sources = try (0..<50).map { number in try workflow.add("s\(number)") { number } }
    let sum = try workflow.add("sum", after: sources) { $0.reduce(0, +) }
    let text = try #require(reason(of: sum.future)?.description)
    #expect(text.contains("and 46 more"))
    #expect(text.count < 300)
  }
}
