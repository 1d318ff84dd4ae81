import Foundation
import Futures
import TestSupport
import Testing
import Workflows

/// Workflows in one another take time in proportion to their number.
@Suite(.enabled(if: isStressing && isFullSize), .timeLimit(.minutes(5)), .serialized)
struct GrowthOfNestsTests {
  private static let bound = 8.0

  private static func ratio(_ body: @escaping @Sendable (Int) -> () -> Void) async throws -> Double
  {
    try await Growth.ratioOnSmallStack(below: bound, of: body)
  }

  /// Puts pairs of workflows in one another, from the outermost inwards.
  private static func nested(_ count: Int, isLimited: Bool = false) -> Workflow {
    let outermost = Workflow(name: "outermost", context: .inline)
    var last = outermost
    for number in 0..<count {
      let pair = (0..<2).map { Workflow(name: "\(number) \($0)", context: .inline) }
      if isLimited { for workflow in pair { workflow.maxConcurrentTaskCount = 2 } }
      try! pair[0].add(SubworkflowTask(subworkflow: pair[1]))
      try! last.add(SubworkflowTask(subworkflow: pair[0]))
      last = pair[1]
    }
    return outermost
  }

  @Test func `pairs of workflows that are put in one another from outside`() async throws {
    let ratio = try await Self.ratio { count in
      { _ = Self.nested(count) }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `the same with a limit at every level`() async throws {
    let ratio = try await Self.ratio { count in
      { _ = Self.nested(count, isLimited: true) }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `the drawing of workflows in one another`() async throws {
    let lengths = try await SmallStackThread.running(within: .seconds(240)) {
      [1_000, 4_000].map { count in
        let workflow = Self.nested(count)
        return [workflow.dot.utf8.count, workflow.mermaid.utf8.count]
      }
    }
    #expect(zip(lengths[1], lengths[0]).allSatisfy { $0 < $1 * 5 })
  }
}
