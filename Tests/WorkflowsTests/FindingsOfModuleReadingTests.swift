import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

/// What a reading of the whole module found, as programs.
@Suite("What a reading of the module found", .timeLimit(.minutes(1)), .oneAtATime)
struct FindingsOfModuleReadingTests {
  private func condition(_ name: String = "condition") -> ExternalConditionTask<Int> {
    ExternalConditionTask<Int>(name: name, waitsForFulfillment: true)
  }

  // MARK: Explanations

  @Test func `a condition waits: the explanation of the run lists it with the tasks that wait`()
    throws
  {
    let workflow = inlineWorkflow("w")
    try workflow.add(condition("approval"))
    let run = workflow.start()
    let text = run.explain().description
    #expect(text.contains(#"These tasks wait: "approval" (waits to be fulfilled)."#))
    #expect(!text.contains("These tasks execute"))
    workflow.cancel()
  }
}
