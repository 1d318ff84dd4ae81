import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

/// A storage in memory.
private final class PlainStorage: WorkflowJournalStorage {
  let name = "plain"
  private let kept = TestLock<[String: WorkflowJournalRecord]>([:])

  var records: [String: WorkflowJournalRecord] { kept.withLock { $0 } }

  func open() -> [WorkflowJournalRecord] { Array(records.values) }

  func write(_ changes: [WorkflowJournalChange]) {
    kept.withLock { records in
      for change in changes {
        switch change {
        case .record(let record): records[record.identifier] = record
        case .forget(let identifier): records[identifier] = nil
        }
      }
    }
  }

  func close() {}
}

/// What a reading of the journal found, as programs.
@Suite("What a reading found in journals", .timeLimit(.minutes(1)), .oneAtATime)
struct FindingsOfJournalReadingTests {
  private let scene: JournalScene

  init() throws { scene = try JournalScene() }

  private func recorded(_ name: String, _ value: Int = 1) -> BlockWorkflowTask<Int> {
    BlockWorkflowTask<Int>(name: name) { $0.finish(with: value) }.journaled(as: name)
  }

  // MARK: Closing

  /// A recorded task, and behind it many workflows with a recorded condition each.
  private func makeFan() throws -> (Workflow, [ExternalConditionTask<Int>]) {
    let outer = inlineWorkflow("outer")
    let first = try outer.add(recorded("first"))
    let conditions = try (0..<500).map { i in
      let inner = inlineWorkflow("inner \(i)")
      let condition = ExternalConditionTask<Int>(name: "\(i)", waitsForFulfillment: true)
      try inner.add(condition.journaled(as: "condition \(i)"))
      try outer.add(SubworkflowTask(subworkflow: inner), prerequisites: first)
      return condition
    }
    return (outer, conditions)
  }

  @Test func `a journal is closed while tasks inside finish: their records name the task around`()
    async throws
  {
    for _ in 0..<10 {
      let storage = PlainStorage()
      let (outer, conditions) = try makeFan()
      try outer.resume(from: storage)
      outer.start()
      #expect(await eventually { conditions.allSatisfy { $0.isExecuting } })
      let (isInside, isOver) = (Event(), Event())
      Thread.detachNewThread {
        for (i, condition) in conditions.enumerated() {
          if i == 50 { isInside.signal() }
          condition.fulfill(with: i)
        }
        isOver.signal()
      }
      #expect(await isInside.opened())
      outer.closeJournal()
      #expect(await isOver.opened())
      let records = storage.records
      let first = try #require(records["first"])
      let wrongCount = records.values.count {
        $0.identifier != "first" && $0.prerequisites != ["first": first.number]
      }
      #expect(wrongCount == 0)
      let (again, _) = try makeFan()
      #expect(try again.resume(from: storage).restored.count == records.count)
      again.closeJournal()
    }
  }
}
