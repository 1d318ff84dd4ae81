import Foundation
import Futures
import TestSupport
import Testing
import Workflows

/// A task that executes until it is finished from outside.
private final class Open: WorkflowTask<Int>, @unchecked Sendable {
  override func main() {}
}

/// Recording results and restoring them takes time in proportion to their number.
@Suite(.enabled(if: isStressing && isFullSize), .timeLimit(.minutes(5)), .serialized)
struct GrowthOfJournalsTests {
  private static let bound = 8.0

  /// Tasks behind one, and one behind them all; each is recorded.
  private static func make(_ count: Int) throws -> (workflow: Workflow, middle: [Open]) {
    let workflow = Workflow(name: "wide", context: .inline)
    let first = try workflow.add(Open(name: "first").journaled(as: "first"))
    var middle: [Open] = []
    for i in 0..<count {
      middle.append(
        try workflow.add(Open(name: "\(i)").journaled(as: "task \(i)"), prerequisites: first))
    }
    try workflow.add(Open(name: "last").journaled(as: "last"), prerequisites: middle)
    return (workflow, middle)
  }

  /// Makes such a workflow whose first task has finished, and which records.
  private static func started(_ count: Int, _ journal: WorkflowJournal) throws -> (
    workflow: Workflow, middle: [Open]
  ) {
    let (workflow, middle) = try make(count)
    try workflow.resume(from: journal)
    workflow.start()
    (workflow.allTasks[0] as? Open)?.finish(with: 0)
    _ = eventuallyBlocking { middle.last?.state == .executing }
    return (workflow, middle)
  }

  @Test func `results that are recorded at once`() async throws {
    let ratio = try await SmallStackThread.running(within: .seconds(240)) {
      Growth.ratio(from: 64, below: Self.bound) { count in
        guard let folder = try? TemporaryFolder("Growth"),
          let (workflow, middle) = try? Self.started(
            count, WorkflowJournal(url: folder.file("journal")))
        else { return {} }
        return {
          for (i, task) in middle.enumerated() { task.finish(with: i) }
          _ = (workflow, folder)
        }
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `results that are restored`() async throws {
    let ratio = try await SmallStackThread.running(within: .seconds(240)) {
      Growth.ratio(from: 64, below: Self.bound) { count in
        guard let folder = try? TemporaryFolder("Growth") else { return {} }
        let journal = WorkflowJournal(url: folder.file("journal"))
        guard let (before, middle) = try? Self.started(count, journal),
          let (workflow, restored) = try? Self.make(count)
        else { return {} }
        for (i, task) in middle.enumerated() { task.finish(with: i) }
        _ = eventuallyBlocking { middle.allSatisfy { $0.isFinished } }
        before.closeJournal()
        return {
          _ = try? workflow.resume(from: journal)
          precondition(restored.allSatisfy { $0.isFinished })
          _ = folder
        }
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `results that are reset at once`() async throws {
    let ratio = try await SmallStackThread.running(within: .seconds(240)) {
      Growth.ratio(from: 64, below: Self.bound) { count in
        guard let folder = try? TemporaryFolder("Growth"),
          let (workflow, middle) = try? Self.started(
            count, WorkflowJournal(url: folder.file("journal")))
        else { return {} }
        for (i, task) in middle.enumerated() { task.finish(with: i) }
        _ = eventuallyBlocking { middle.allSatisfy { $0.isFinished } }
        return {
          workflow.reset()
          workflow.closeJournal()
          _ = folder
        }
      }
    }
    #expect(ratio < Self.bound)
  }
}
