import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing

@testable import Workflows

/// What a third reading of the module found, as programs.
@Suite("What a third reading found in workflows", .timeLimit(.minutes(3)), .oneAtATime)
struct FindingsOfThirdReadingTests {
  // MARK: Closures that stop work

  /// Work that waits for a future on a thread of its own, which the closure that stops the work
  /// joins.
  private struct JoinedWork {
    let waits = Event()
    let isStopped = Event()
    /// How many closures could not join the work.
    let misses = Counter()

    /// - Parameter isAbandoned: Whether the work gives up its run.
    func task(waitingFor future: Future<Int>, isAbandoned: Bool) -> WorkflowTask<Int> {
      BlockWorkflowTask<Int>(name: "joined") { [waits, isStopped, misses] run in
        let isOver = Event()
        Thread {
          waits.signal()
          _ = try? future.wait()
          isOver.signal()
        }.start()
        // The closure keeps the run, which would otherwise be given up.
        run.onStop { [kept = isAbandoned ? nil : run] in
          withExtendedLifetime(kept) { if !isOver.wait() { misses.add() } }
          isStopped.signal()
        }
      }
    }
  }

  @Test func `one call ends two tasks, and the work of one waits for the other: the call returns`()
    async throws
  {
    let workflow = Workflow(name: "w")
    let (work, returned) = (JoinedWork(), Event())
    let other = try workflow.add(OpenTask(name: "other"))
    try workflow.add(work.task(waitingFor: other.future, isAbandoned: false))
    let run = workflow.start()
    #expect(await work.waits.opened())
    Thread {
      workflow.cancel()
      returned.signal()
    }.start()
    #expect(await returned.opened(within: Event.patience * 2))
    #expect(work.misses.value == 0)
    #expect(try await run.value == .cancelled(workflow.allTasks))
  }

  @Test func `a workflow is released while work waits for one of its tasks: the work is joined`()
    async throws
  {
    let workflow = Box<Workflow?>(Workflow(name: "w"))
    let work = JoinedWork()
    if let workflow = workflow.value {
      let before = try workflow.add(failing("before"))
      let after = try workflow.add(counting("after"), prerequisites: before)
      try workflow.add(work.task(waitingFor: after.future, isAbandoned: true))
      _ = try await workflow.run()
      #expect(await work.waits.opened())
    }
    workflow.value = nil
    #expect(await work.isStopped.opened(within: Event.patience * 2))
    #expect(work.misses.value == 0)
  }

  // MARK: The timeout of a run

  @Test(arguments: [false, true])
  func `the time of a run is over while clean-up waits for its next attempt: the run ends`(
    _ hasNewPrerequisite: Bool
  ) async throws {
    let (clock, retries) = (ManualClock(), ManualClock())
    let workflow = Workflow(name: "w", context: .inline, clock: clock)
    workflow.timeout = .seconds(1)
    let first = try workflow.add(failing("first"))
    let runs = Counter()
    let cleanUp = BlockWorkflowTask<Int>(name: "clean up") { run in
      runs.add()
      run.fail(with: TestError.second)
    }
    cleanUp.retryPolicy = RetryPolicy(
      attempts: 5, delay: .constant(.seconds(1)), clock: retries)
    try workflow.add(cleanUp, prerequisites: [first], when: .whenAllDone)
    let last = try workflow.add(counting("last"), prerequisites: [cleanUp], when: .whenAllDone)
    let run = workflow.start()
    _ = try await retries.nextSleep()
    if hasNewPrerequisite {
      // It executes, and holds up the next attempt.
      try workflow.addPrerequisite(try workflow.add(OpenTask(name: "door")), to: cleanUp)
    }
    clock.advance(by: .seconds(1))
    try #require(await eventually { run.isFulfilled })
    #expect(runs.value == 1 && cleanUp.isCancelled && last.isFinished)
    let failed = try await run.value.errors.keys.map(\.name).sorted()
    #expect(failed == (hasNewPrerequisite ? ["door", "first"] : ["first"]))
  }
}
