import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing

@testable import Workflows

/// What a third reading of the module found, as programs.
@Suite("What a third reading found in workflows", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfThirdReadingTests {
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
