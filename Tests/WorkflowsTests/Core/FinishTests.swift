import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing
import Workflows

/// Runs that end without any task starting.
@Suite("Runs that start no task tell their end", .timeLimit(.minutes(5)), .oneAtATime)
struct FinishTests {
  /// A workflow in an inline context, and everything that its observers are told.
  private struct Scene {
    final class Ends: WorkflowDelegate {
      let log = Log<String>()
      func workflowDidFinish(_ workflow: Workflow) { log.append("finished") }
      func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) {
        log.append("end: \(outcome)")
      }
    }

    let workflow: Workflow
    private let ends = Ends()
    private let postings: Postings
    private let events: AsyncStream<WorkflowEvent>

    init(
      _ name: String = "test", clock: any Clock<Duration> = ContinuousClock(),
      skipped: Int = 0
    ) throws {
      let center = NotificationCenter()
      workflow = Workflow(
        name: name, context: .inline, notificationCenter: center, clock: clock)
      postings = Postings(center, of: workflow)
      for number in 0..<skipped { try Self.addSkipped("\(number)", to: workflow) }
      workflow.delegate = ends
      events = workflow.events
    }

    /// Adds a task that is skipped when it is added.
    @discardableResult
    static func addSkipped(_ name: String, to workflow: Workflow) throws -> OpenTask {
      let task = try workflow.add(OpenTask(name: name), prerequisites: [], when: .whenAnyFails)
      #expect(task.isSkipped)
      return task
    }

    /// Returns what the delegate was told, after a check that the events and the
    /// notifications are the same.
    func told() async -> [String] {
      let told = ends.log.entries
      // The event marks the end of those that were sent until now.
      workflow.reset()
      var seen: [String] = []
      for await event in events {
        switch event {
        case .workflowDidFinish: seen.append("finished")
        case .runDidEnd(let outcome): seen.append("end: \(outcome)")
        default: break
        }
        if event == .workflowWillReset { break }
      }
      #expect(seen == told)
      let posted = postings.log.entries.filter { $0.hasPrefix("didFinish") }
      #expect(posted.count == told.filter { $0 == "finished" }.count)
      return told
    }
  }

  private let whole = ["finished", "end: finished"]

  @Test func `all tasks were skipped when they were added: the run tells that all have finished`()
    async throws
  {
    let scene = try Scene(skipped: 3)
    #expect(scene.workflow.start().result?.successValue == .finished)
    #expect(await scene.told() == whole)
  }

  @Test func `a second start of a workflow that was skipped: the run ends, and no more is told`()
    async throws
  {
    let scene = try Scene(skipped: 1)
    scene.workflow.start()
    scene.workflow.start()
    #expect(await scene.told() == whole + ["end: finished"])
  }

  @Test func `a retry of a workflow that was skipped: the run tells that all have finished`()
    async throws
  {
    let scene = try Scene(skipped: 1)
    scene.workflow.retry()
    #expect(await scene.told() == whole)
  }

  @Test func `a run of only a skipped task, and all are skipped: all have finished`() async throws {
    let scene = try Scene(skipped: 2)
    try scene.workflow.start(only: scene.workflow.allTasks[0])
    #expect(await scene.told() == whole)
  }

  @Test func `a run of only a skipped task beside a ready one: the run ends, and no more`()
    async throws
  {
    let scene = try Scene(skipped: 1)
    let other = try scene.workflow.add(OpenTask(name: "other"))
    let outcome = try scene.workflow.start(only: scene.workflow.allTasks[0])
    #expect(outcome.result?.successValue == .finished && other.isReady)
    #expect(await scene.told() == ["end: finished"])
  }

  @Test func `a run of only a finished task, and all have finished: the end is not told twice`()
    async throws
  {
    let scene = try Scene()
    let task = try scene.workflow.add(OpenTask(name: "task"))
    scene.workflow.start()
    task.finish(with: 1)
    try scene.workflow.start(only: task)
    #expect(await scene.told() == whole + ["end: finished"])
  }

  @Test func `an empty workflow: each start tells that all have finished`() async throws {
    let scene = try Scene()
    scene.workflow.start()
    scene.workflow.start()
    #expect(await scene.told() == whole + whole)
  }

  @Test func `a retry of an empty workflow that was never started: all have finished`()
    async throws
  {
    let scene = try Scene()
    scene.workflow.retry()
    #expect(await scene.told() == whole)
  }

  @Test func `tasks that were started and finished by hand: the last one tells, the run ends`()
    async throws
  {
    let scene = try Scene()
    let task = try scene.workflow.add(OpenTask(name: "task"))
    task.start()
    task.finish(with: 1)
    #expect(scene.workflow.start().result?.successValue == .finished)
    #expect(await scene.told() == whole)
  }

  @Test func `a skipped task that is added to a finished workflow: the next run tells it`()
    async throws
  {
    let scene = try Scene()
    let task = try scene.workflow.add(OpenTask(name: "task"))
    scene.workflow.start()
    task.finish(with: 1)
    try Scene.addSkipped("late", to: scene.workflow)
    scene.workflow.start()
    #expect(await scene.told() == whole + whole)
  }

  @Test func `all tasks are cancelled before the run: it ends as cancelled, and is told once`()
    async throws
  {
    let scene = try Scene()
    try scene.workflow.add(OpenTask(name: "task"))
    scene.workflow.cancel()
    scene.workflow.start()
    #expect(await scene.told() == ["end: cancelled: task"])
  }

  @Test func `a paused workflow whose tasks were skipped: its run ends and is told`() async throws {
    let scene = try Scene(skipped: 1)
    scene.workflow.pause()
    #expect(scene.workflow.start().result?.successValue == .finished)
    #expect(await scene.told() == whole)
  }

  @Test func `a time limit of a run that starts no task: the run is told and leaves no timer`()
    async throws
  {
    let clock = ManualClock()
    let scene = try Scene(clock: clock, skipped: 1)
    scene.workflow.timeout = .seconds(1)
    scene.workflow.start()
    clock.advance(by: .seconds(2))
    #expect(await scene.told() == whole)
  }

  @Test(arguments: [0, 2])
  func `an inner workflow without any task to run: it tells its end, and so does the outer one`(
    skipped: Int
  ) async throws {
    let (outer, inner) = (try Scene("outer"), try Scene("inner", skipped: skipped))
    let task = try outer.workflow.add(
      SubworkflowTask(name: "sub", subworkflow: inner.workflow))
    #expect(outer.workflow.start().result?.successValue == .finished)
    #expect(task.isFinished)
    #expect(await inner.told() == whole)
    #expect(await outer.told() == whole)
  }

  @Test func `an inner workflow without any task to run, nested twice: each tells its end`()
    async throws
  {
    let (outer, middle, inner) = (try Scene(), try Scene("middle"), try Scene(skipped: 1))
    try middle.workflow.add(SubworkflowTask(name: "in", subworkflow: inner.workflow))
    try outer.workflow.add(SubworkflowTask(name: "sub", subworkflow: middle.workflow))
    #expect(outer.workflow.start().result?.successValue == .finished)
    #expect(await inner.told() == whole)
    #expect(await middle.told() == whole)
    #expect(await outer.told() == whole)
  }

  @Test func `an inner workflow that has finished before: it does not run again`() async throws {
    let (outer, inner) = (try Scene("outer"), try Scene("inner", skipped: 1))
    inner.workflow.start()
    try outer.workflow.add(SubworkflowTask(name: "sub", subworkflow: inner.workflow))
    #expect(outer.workflow.start().result?.successValue == .finished)
    #expect(await inner.told() == whole)
    #expect(await outer.told() == whole)
  }

  @Test func `all tasks were restored from a journal: the run tells that all have finished`()
    async throws
  {
    let journal = try JournalScene()
    let first = Workflow(name: "test", context: .inline)
    try first.add(counting("task").journaled(as: "task"))
    try first.resume(from: journal.journal)
    _ = try await first.run()
    first.closeJournal()

    let scene = try Scene()
    let task = try scene.workflow.add(counting("task").journaled(as: "task"))
    try scene.workflow.resume(from: journal.journal)
    #expect(task.isFinished)
    #expect(try await scene.workflow.run() == .finished)
    #expect(await scene.told() == whole)
  }
}
