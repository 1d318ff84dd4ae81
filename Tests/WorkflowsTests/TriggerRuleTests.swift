import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("When a task runs", .timeLimit(.minutes(5)), .oneAtATime)
struct TriggerRuleTests {
  /// A short text for how a prerequisite has ended.
  private static func text(_ end: Result<Int, any Error>) -> String {
    switch end {
    case .success(let value): "\(value)"
    case .failure(let error as TestError): "\(error)"
    case .failure(is CancellationError): "cancelled"
    case .failure(is TaskSkipped): "skipped"
    case .failure(WorkflowError.noResult): "in vain"
    case .failure(let error): "\(error)"
    }
  }

  // MARK: Inputs

  @Test("19. clean-up runs when all have ended in whatever way, and gets how they have")
  func cleanUpGetsEnds() async throws {
    let workflow = Workflow(name: "test")
    let done = try workflow.add("done") { 1 }
    let failed = try workflow.add("failed") { () throws -> Int in throw TestError.first }
    let cancelled = try workflow.add("cancelled") { () throws -> Int in throw CancellationError() }
    let skipped = try workflow.add("skipped") { () throws -> Int in throw TaskSkipped() }
    let behind = try workflow.add("behind", after: failed) { $0 }
    let follower = try workflow.add("follower", after: skipped) { $0 }
    let cleanUp = try workflow.add(
      "clean up", after: done, failed, cancelled, when: .whenAllDone
    ) { done, failed, cancelled in
      [done, failed, cancelled].map(Self.text)
    }
    let others = try workflow.add(
      "others", after: [skipped, behind, follower], when: .whenAllDone
    ) { ends in
      ends.map(Self.text)
    }
    let outcome = try await workflow.run()
    #expect(outcome == .failed([failed: TestError.first]))
    #expect(cleanUp.result == ["1", "first", "cancelled"])
    #expect(others.result == ["skipped", "in vain", "skipped"])
    #expect(behind.state == .pending && follower.isSkipped && skipped.isSkipped)
  }

  @Test("19. the forms with a run, with async closures and in a context get ends as well")
  func forms() async throws {
    let workflow = Workflow(name: "test")
    let failed = try workflow.add("failed") { () throws -> Int in throw TestError.second }
    let one = try workflow.add("one", after: failed, when: .whenAnyFails, on: .inline) { end in
      Self.text(end)
    }
    let two = try workflow.add("two", after: failed, when: .whenAnyFails) { end in
      await Task.yield()
      return Self.text(end)
    }
    let three = try workflow.add(
      "three", after: failed, when: .whenAllDone,
      run: { run, end in "\(run.attempt) \(Self.text(end))" })
    let four = try workflow.add(
      "four", after: [failed], when: .whenAllDone,
      run: { run, ends -> String in
        await Task.yield()
        return "\(run.attempt) \(ends.map(Self.text))"
      })
    let five = try workflow.add(counting("five"), prerequisites: [failed], when: .whenAllDone)
    _ = try await workflow.run()
    #expect(one.result == "second" && two.result == "second" && three.result == "1 second")
    #expect(four.result == "1 [\"second\"]" && five.isFinished)
    #expect(one.triggerRule == .whenAnyFails && failed.triggerRule == .whenAllSucceed)
  }

  @Test("19. a task for failures is skipped if none fails, and what follows it says by its rule")
  func noFailure() async throws {
    let workflow = Workflow(name: "test")
    let events = workflow.events
    let first = try workflow.add("first") { 1 }
    let alert = try workflow.add("alert", after: first, when: .whenAnyFails) { _ in 2 }
    let follower = try workflow.add("follower", after: alert) { $0 }
    let last = try workflow.add("last", after: follower, when: .whenAllDone) { Self.text($0) }
    #expect(try await workflow.run() == .finished)
    #expect(alert.isSkipped && follower.isSkipped && last.result == "skipped")
    #expect(workflow.progress.fractionCompleted == 1 && !workflow.hasUnfinishedTasks)
    #expect(alert.error == nil && alert.result == nil && alert.finishDate == nil)
    #expect(workflow.dot.contains("Skipped") && workflow.mermaid.contains(":::skipped"))
    var skipped: [AnyWorkflowTask] = []
    for await event in events {
      if case .taskDidSkip(let task) = event { skipped.append(task) }
      if case .runDidEnd = event { break }
    }
    #expect(skipped == [alert, follower])
  }

  // MARK: Skipping

  @Test("19. a task that throws that it is skipped is not tried again, and its future says so")
  func thrownSkip() async throws {
    let (workflow, runs) = (inlineWorkflow(), Counter())
    let task = try workflow.add("task") { () throws -> Int in
      runs.add()
      throw TaskSkipped()
    }
    task.retryPolicy = RetryPolicy(attempts: 3)
    let future = task.future
    #expect(try await workflow.run() == .finished)
    #expect(task.isSkipped && runs.value == 1)
    for future in [future, task.future] {
      await #expect(throws: TaskSkipped.self) { try await future.value }
    }
    #expect(try await workflow.retry().value == .finished)
    #expect(runs.value == 1)
    workflow.reset()
    #expect(task.state == .ready)
    #expect(try await workflow.run() == .finished)
    #expect(runs.value == 2)
  }

  @Test("19. delegates, hooks and notifications are told of a skip, in a context as well")
  func skipIsTold() async throws {
    final class Hooked: WorkflowTask<Int>, @unchecked Sendable {
      let log: Log<String>
      init(_ log: Log<String>) {
        self.log = log
        super.init(name: "hooked")
      }
      override func main(_ run: TaskWork<Int>) { run.skip() }
      override func didSkip() { log.append("hook") }
    }
    final class Ears: WorkflowDelegate, WorkflowTaskDelegate {
      let log: Log<String>
      init(_ log: Log<String>) { self.log = log }
      func taskDidSkip(_ task: AnyWorkflowTask) { log.append("task") }
      func workflow(_ workflow: Workflow, taskDidSkip task: AnyWorkflowTask) {
        log.append("workflow")
      }
    }
    let (log, center) = (Log<String>(), NotificationCenter())
    let ears = Ears(log)
    let workflow = Workflow(context: .inline, notificationCenter: center)
    let observer = center.addObserver(forName: .taskDidSkip, object: nil, queue: nil) { _ in
      log.append("notification")
    }
    defer { center.removeObserver(observer) }
    let task = try workflow.add(Hooked(log))
    (task.delegate, workflow.delegate) = (ears, ears)
    _ = try await workflow.run()
    #expect(log.entries == ["hook", "task", "notification", "workflow"])
    workflow.reset()
    task.setDelegate(ears, on: .inline)
    workflow.setDelegate(ears, on: .inline)
    _ = try await workflow.run()
    #expect(
      log.entries == ["hook", "task", "notification", "workflow", "hook", "task"]
        + ["notification", "workflow"])
  }

  @Test("19. a task that is added behind ended ones is skipped, runs or waits in vain at once")
  func addedLate() async throws {
    let workflow = inlineWorkflow()
    let failed = try workflow.add(failing("failed"))
    let skipped = try workflow.add("skipped") { () throws -> Int in throw TaskSkipped() }
    let done = try workflow.add("done") { 1 }
    _ = try await workflow.run()
    let follower = try workflow.add("follower", after: skipped, done) { $0 + $1 }
    let vain = try workflow.add("vain", after: failed, skipped) { $0 + $1 }
    let alert = try workflow.add("alert", after: done, when: .whenAnyFails) { _ in }
    let cleanUp = try workflow.add("clean up", after: vain, follower, when: .whenAllDone) {
      Self.text($0) + Self.text($1)
    }
    #expect(follower.isSkipped && vain.state == .pending && alert.isSkipped)
    #expect(cleanUp.state == .ready)
    _ = try await workflow.run()
    #expect(cleanUp.result == "in vainskipped")
    #expect(throws: WorkflowError.self) { try workflow.addPrerequisite(failed, to: follower) }
    // A prerequisite that has failed, added later, leads to the clean-up as well.
    let open = try workflow.add(OpenTask(name: "open"))
    let last = try workflow.add(counting("last"), prerequisites: open)
    let after = try workflow.add(counting("after"), prerequisites: [last], when: .whenAllDone)
    #expect(after.state == .pending)
    try workflow.addPrerequisite(failed, to: last)
    #expect(after.isFinished && last.state == .pending)
  }

  @Test("19. the first clean-up that is added to a workflow knows what waits in vain already")
  func firstRule() async throws {
    let workflow = inlineWorkflow()
    let failed = try workflow.add(failing("failed"))
    let behind = try workflow.add("behind", after: failed) { $0 }
    let last = try workflow.add("last", after: behind) { $0 }
    _ = try await workflow.run()
    let cleanUp = try workflow.add("clean up", after: last, when: .whenAnyFails) { Self.text($0) }
    #expect(cleanUp.state == .ready)
    _ = try await workflow.run()
    #expect(cleanUp.result == "in vain")
  }

  // MARK: Cancelling

  @Test("19. cancelling a run or a prerequisite leaves clean-up to run; its own cancel stops it")
  func cancelling() async throws {
    let workflow = inlineWorkflow()
    let work = try workflow.add(OpenTask(name: "work"))
    let cleanUp = try workflow.add(
      OpenTask(name: "clean up"), prerequisites: [work], when: .whenAllDone)
    let after = try workflow.add(counting("after"), prerequisites: cleanUp)
    let alert = try workflow.add(
      OpenTask(name: "alert"), prerequisites: [work], when: .whenAnyFails)
    let run = workflow.start()
    workflow.cancel()
    #expect(work.isCancelled && cleanUp.isExecuting && after.isCancelled && alert.isSkipped)
    workflow.cancel()
    work.cancel()
    #expect(cleanUp.isExecuting && !run.isFulfilled)
    cleanUp.finish(with: 1)
    #expect(try await run.value == .cancelled([work, after]))

    workflow.reset()
    let second = workflow.start()
    work.cancel()
    #expect(cleanUp.isExecuting && after.state == .pending)
    cleanUp.cancel()
    #expect(cleanUp.isCancelled && after.isCancelled)
    #expect(try await second.value == .cancelled([work, cleanUp, after]))
  }

  @Test("19. a workflow that is cancelled before it starts starts nothing, and then its clean-up")
  func cancelledBefore() async throws {
    let workflow = inlineWorkflow()
    let work = try workflow.add(counting("work"))
    let cleanUp = try workflow.add(
      counting("clean up"), prerequisites: [work], when: .whenAllDone)
    workflow.cancel()
    #expect(work.isCancelled && cleanUp.state == .ready)
    #expect(try await workflow.run() == .cancelled([work]))
    #expect(cleanUp.isFinished)
  }

  @Test("19. a run that is stuck with a run that was given up cleans up when it is cancelled")
  func stuck() async throws {
    let workflow = inlineWorkflow()
    let forgotten = try workflow.add(BlockWorkflowTask<Int>(name: "forgotten") { _ in })
    let cleanUp = try workflow.add(
      counting("clean up"), prerequisites: [forgotten], when: .whenAllDone)
    #expect(try await workflow.run() == .stuck([forgotten: [], cleanUp: [forgotten]]))
    workflow.cancel()
    #expect(forgotten.isCancelled && cleanUp.isFinished)
  }

  @Test("19. a run that fails at its first failure, or that times out, cleans up")
  func failFastAndTimeout() async throws {
    let workflow = Workflow(name: "test")
    workflow.failFast = true
    let open = try workflow.add(OpenTask(name: "open"))
    let failed = try workflow.add(failing("failed"))
    let cleanUp = try workflow.add(
      counting("clean up"), prerequisites: [open, failed], when: .whenAllDone)
    let alert = try workflow.add(
      counting("alert"), prerequisites: [open, failed], when: .whenAnyFails)
    #expect(try await workflow.run() == .failed([failed: TestError.first]))
    #expect(open.isCancelled && cleanUp.isFinished && alert.isFinished)

    let slow = inlineWorkflow("slow")
    slow.timeout = .milliseconds(1)
    let late = try slow.add(OpenTask(name: "late"))
    let behind = try slow.add(counting("behind"), prerequisites: late)
    let end = try slow.add(counting("end"), prerequisites: [late, behind], when: .whenAllDone)
    let tell = try slow.add(counting("tell"), prerequisites: [late], when: .whenAnyFails)
    late.start()
    #expect(late.isExecuting)
    let outcome = try await slow.run()
    #expect(Array(outcome.errors.keys) == [late] && behind.isCancelled)
    #expect(end.isFinished && tell.isFinished)
  }

  // MARK: Again

  @Test("19. a retry takes clean-up back, which runs again when all have ended again")
  func retry() async throws {
    let (workflow, fails) = (inlineWorkflow(), Box(true))
    let (cleanUps, alerts) = (Counter(), Counter())
    let work = try workflow.add("work") { () throws -> Int in
      if fails.value { throw TestError.first }
      return 1
    }
    let behind = try workflow.add("behind", after: work) { $0 + 1 }
    let cleanUp = try workflow.add("clean up", after: behind, when: .whenAllDone) { end in
      cleanUps.add()
      return Self.text(end)
    }
    let alert = try workflow.add("alert", after: behind, when: .whenAnyFails) { _ in alerts.add() }
    let follower = try workflow.add("follower", after: cleanUp) { $0 }
    #expect(try await workflow.run() == .failed([work: TestError.first]))
    #expect(cleanUp.result == "in vain" && alerts.value == 1 && follower.result == "in vain")
    fails.value = false
    #expect(try await workflow.retry().value == .finished)
    #expect(cleanUp.result == "2" && follower.result == "2" && alert.isSkipped)
    #expect(cleanUps.value == 2 && alerts.value == 1)
    workflow.reset()
    #expect([cleanUp, alert, follower].allSatisfy { $0.state == .pending })
    fails.value = true
    _ = try await workflow.run()
    #expect(cleanUp.isFinished && alerts.value == 2)
  }

  @Test("19. a retry tells clean-up that executes to stop, and progress goes back")
  func retryDuringCleanUp() async throws {
    let workflow = inlineWorkflow()
    let progress = workflow.progress
    let work = try workflow.add(OpenTask(name: "work"))
    let cleanUp = try workflow.add(
      OpenTask(name: "clean up"), prerequisites: [work], when: .whenAllDone)
    let run = workflow.start()
    work.fail(with: TestError.first)
    let old = cleanUp.currentWork
    #expect(cleanUp.isExecuting)
    work.retry()
    #expect(work.isExecuting && cleanUp.state == .pending && !old.finish(with: 1))
    work.finish(with: 1)
    cleanUp.finish(with: 2)
    #expect(try await run.value == .finished)
    #expect(progress.fractionCompleted == 1 && cleanUp.runs.value == 2)
  }

  @Test("19. an attempt that is followed by another is no failure yet")
  func attempts() async throws {
    let workflow = inlineWorkflow()
    let work = try workflow.add(failing("work", times: 1))
    work.retryPolicy = RetryPolicy(attempts: 2)
    let alert = try workflow.add(counting("alert"), prerequisites: [work], when: .whenAnyFails)
    #expect(try await workflow.run() == .finished)
    #expect(work.isFinished && alert.isSkipped)
  }

  // MARK: Parts and pauses

  @Test("19. clean-up waits for a paused workflow, and is no part of a run of other tasks only")
  func pauseAndOnly() async throws {
    let workflow = inlineWorkflow()
    let work = try workflow.add(failing("work"))
    let cleanUp = try workflow.add(
      counting("clean up"), prerequisites: [work], when: .whenAllDone)
    let alert = try workflow.add(counting("alert"), prerequisites: [cleanUp], when: .whenAnyFails)
    #expect(try await workflow.run(only: work) == .failed([work: TestError.first]))
    #expect(cleanUp.state == .ready && alert.state == .pending)
    workflow.reset()
    workflow.pause()
    let run = workflow.start()
    workflow.cancel()
    #expect(work.isCancelled && cleanUp.state == .ready && !run.isFulfilled)
    workflow.resume()
    #expect(try await run.value == .cancelled([work]))
    #expect(cleanUp.isFinished && alert.isSkipped)
    workflow.reset()
    #expect(try await workflow.run(only: cleanUp) == .failed([work: TestError.first]))
    #expect(cleanUp.isFinished)
  }

  // MARK: Nesting

  @Test("19. clean-up inside runs when the workflow around is cancelled, reset or has failed")
  func nested() async throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let work = try inner.add(OpenTask(name: "work"))
    let cleanUp = try inner.add(
      OpenTask(name: "clean up"), prerequisites: [work], when: .whenAllDone)
    let sub = try outer.add(SubworkflowTask(subworkflow: inner))
    let last = try outer.add(counting("last"), prerequisites: [sub], when: .whenAllDone)
    let run = outer.start()
    outer.cancel()
    #expect(work.isCancelled && sub.isCancelled && cleanUp.isExecuting && last.isFinished)
    #expect(try await run.value == .cancelled([sub]))
    outer.reset()
    #expect(cleanUp.state == .pending && last.state == .pending)
    let second = outer.start()
    work.fail(with: TestError.first)
    #expect(sub.isFailed && cleanUp.isExecuting && last.isFinished)
    #expect(try await second.value == .failed([sub: TestError.first]))
    let third = outer.retry()
    #expect(work.isExecuting && cleanUp.state == .pending && last.state == .pending)
    work.fail(with: TaskSkipped())
    #expect(cleanUp.isExecuting && !third.isFulfilled)
    cleanUp.finish(with: 1)
    #expect(try await third.value == .finished)
    #expect(work.isSkipped && sub.isFinished && last.isFinished)
  }

  @Test("19. clean-up inside ends after the cancellation of the workflow around: nothing goes on")
  func cancelledDuringCleanUpInside() async throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let work = try inner.add("work") { 1 }
    let cleanUp = try inner.add(
      OpenTask(name: "clean up"), prerequisites: [work], when: .whenAllDone)
    let sub = try outer.add(SubworkflowTask(subworkflow: inner))
    let after = try outer.add("after", after: sub) { _ in 2 }
    let run = outer.start()
    #expect(cleanUp.state == .executing)
    outer.cancel()
    #expect([sub.state, after.state, cleanUp.state] == [.cancelled, .cancelled, .executing])
    cleanUp.finish(with: 1)
    #expect(cleanUp.isFinished)
    #expect([sub.state, after.state] == [.cancelled, .cancelled])
    guard case .cancelled(let tasks) = try await run.value else {
      Issue.record("not cancelled")
      return
    }
    #expect(Set(tasks) == [sub, after])
    // The task's own retry makes its result of what has finished inside.
    outer.retry()
    #expect([sub.state, after.state] == [.finished, .finished])
  }

  @Test("19. a workflow inside whose tasks are all skipped has finished; its input may skip it")
  func skippedInside() async throws {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let skipped = try inner.add("skipped") { () throws -> Int in throw TaskSkipped() }
    try inner.add("follower", after: skipped) { $0 }
    let sub = try outer.add(SubworkflowTask(subworkflow: inner))
    let other = inlineWorkflow("other")
    let never = try other.add(counting("never"))
    let unwanted = try outer.add(
      SubworkflowTask(subworkflow: other, input: { _ in throw TaskSkipped() }))
    #expect(try await outer.run() == .finished)
    #expect(sub.isFinished && unwanted.isSkipped)
    #expect(never.state == .ready)
    #expect(outer.progress.fractionCompleted == 1)
  }

  // MARK: Journals

  @Test(
    "19. clean-up is not recorded: after a restart it runs again, or is skipped, as the rest says")
  func journal() async throws {
    let url = FileManager.default.temporaryDirectory.appending(
      path: "trigger-rules-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }
    let fails = Box(true)
    func makeWorkflow() throws -> (Workflow, [WorkflowTask<Int>]) {
      let workflow = inlineWorkflow()
      let first = try workflow.add("first") { 1 }.journaled(as: "first")
      let second = try workflow.add("second", after: first) { first throws -> Int in
        if fails.value { throw TestError.first }
        return first + 1
      }.journaled(as: "second")
      let cleanUp = try workflow.add("clean up", after: second, when: .whenAllDone) { _ in 3 }
        .journaled(as: "clean up")
      let alert = try workflow.add("alert", after: first, second, when: .whenAnyFails) { _, _ in 4 }
        .journaled(as: "alert")
      return (workflow, [first, second, cleanUp, alert])
    }
    func run(_ restored: [String]) async throws -> [WorkflowTaskState] {
      let (workflow, tasks) = try makeWorkflow()
      let progress = workflow.progress
      let resumption = try workflow.resume(from: WorkflowJournal(url: url))
      #expect(resumption.restored == restored && !resumption.hasMismatch)
      let outcome = try await workflow.run()
      #expect((progress.fractionCompleted == 1) == outcome.isFinished)
      workflow.closeJournal()
      return tasks.map(\.state)
    }
    #expect(try await run([]) == [.finished, .failed, .finished, .finished])
    fails.value = false
    #expect(try await run(["first"]) == [.finished, .finished, .finished, .skipped])
    #expect(try await run(["first", "second"]) == [.finished, .finished, .finished, .skipped])
  }
}
