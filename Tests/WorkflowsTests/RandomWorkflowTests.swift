import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Random workflows", .timeLimit(.minutes(5)), .oneAtATime)
struct RandomWorkflowTests {
  @Test("56. random graphs under random messages from several threads keep all invariants")
  func random() async throws {
    var seeds = SeededGenerator(for: "random workflows")
    // A replayed seed is the first one of the sequence.
    var seed = seeds.seed
    for _ in 0..<40 {
      let wrong = try await RandomWorkflow(seed: seed).run()
      #expect(wrong.isEmpty, "PROPERATIONS_SEED=\(seed): \(wrong.prefix(5))")
      if !wrong.isEmpty { return }
      seed = seeds.next()
    }
  }
}
