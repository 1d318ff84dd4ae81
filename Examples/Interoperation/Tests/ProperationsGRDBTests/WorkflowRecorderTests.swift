import Foundation
import GRDB
import Properations
import ProperationsGRDB
import TestSupport
import Testing

@Suite("Workflows in SQLite", .timeLimit(.minutes(1)))
struct WorkflowRecorderTests {
  private let database: DatabaseQueue
  private let recorder: WorkflowRecorder
  private let workflow = Workflow(name: "order")

  init() throws {
    database = try DatabaseQueue()
    recorder = try WorkflowRecorder(database)
  }

  private func events(of run: WorkflowRun) async throws -> [WorkflowEventRecord] {
    try await database.read { db in
      try WorkflowEventRecord.filter(Column("runID") == run.id).order(Column("id")).fetchAll(db)
    }
  }

  @Test("The example of the page: a run is a row, and its tasks can be queried")
  func example() async throws {
    let pack = try workflow.add("pack") { 1 }
    try workflow.add("send", after: pack) { _ in throw TestError.first }

    let recorder = try WorkflowRecorder(database)
    let recorded = recorder.record(workflow)
    workflow.start()
    let run = try await recorded.value

    let failures = try await database.read { db in
      try String.fetchAll(
        db, sql: "SELECT task FROM workflowTask WHERE runID = ? AND kind = 'taskDidFail'",
        arguments: [run.id])
    }
    #expect(failures == ["send"])
    #expect(run.workflow == "order")
    #expect(run.outcome == "failed")
    #expect(run.summary?.contains("send") == true)
    #expect(try #require(run.endedAt) >= run.beganAt)
  }

  @Test("Every event is a row, in order")
  func order() async throws {
    let pack = try workflow.add("pack") { 1 }
    try workflow.add("send", after: pack) { $0 }
    let recorded = recorder.record(workflow)
    workflow.start()
    let run = try await recorded.value
    #expect(run.outcome == "finished")
    #expect(
      try await events(of: run).map { "\($0.kind) \($0.task ?? "")" } == [
        "workflowWillStart ", "taskDidStart pack", "taskDidFinish pack", "taskDidStart send",
        "taskDidFinish send", "workflowDidFinish ", "runDidEnd ",
      ])
  }

  @Test("A failed attempt is a row with its number and its error")
  func attempts() async throws {
    let tries = Counter()
    let pack = AsyncWorkflowTask<Int>(name: "pack") { _ in
      if tries.add() == 1 { throw TestError.first }
      return 1
    }
    pack.retryPolicy = RetryPolicy(attempts: 2)
    try workflow.add(pack)
    let recorded = recorder.record(workflow)
    workflow.start()
    let run = try await recorded.value
    let attempt = try #require(
      await events(of: run).first { $0.kind == "taskAttemptDidFail" })
    #expect(attempt.attempt == 1)
    #expect(attempt.error == "first")
    #expect(run.outcome == "finished")
  }

  @Test("A cancelled run is recorded as cancelled")
  func cancelledRun() async throws {
    try workflow.add(ExternalConditionTask<Void>(name: "paid"))
    let recorded = recorder.record(workflow)
    workflow.start()
    workflow.cancel()
    let run = try await recorded.value
    #expect(run.outcome == "cancelled")
    #expect(try await events(of: run).contains { $0.kind == "taskDidCancel" })
  }

  @Test("Cancelling the future ends the recording, and not the run")
  func cancellation() async throws {
    let pack = ExternalConditionTask<Void>(name: "paid")
    try workflow.add(pack)
    let recorded = recorder.record(workflow)
    let outcome = workflow.start()
    recorded.cancel()
    #expect(recorded.isCancelled)
    pack.fulfill()
    #expect(try await outcome.value.isFinished)
    let ended = try await database.read { db in
      try WorkflowRun.filter(Column("outcome") != nil).fetchCount(db)
    }
    #expect(ended == 0)
  }

  @Test("A database that fails ends the recording with its error, and the workflow continues")
  func failure() async throws {
    try workflow.add("pack") { 1 }
    try await database.write { db in try db.drop(table: "workflowEvent") }
    let recorded = recorder.record(workflow)
    let outcome = workflow.start()
    await #expect(throws: DatabaseError.self) { try await recorded.value }
    #expect(try await outcome.value.isFinished)
  }

  @Test("A workflow that is released before it has run leaves a run without outcome")
  func released() async throws {
    var workflow: Workflow? = Workflow(name: "forgotten")
    let recorded = try recorder.record(#require(workflow))
    workflow = nil
    let run = try await recorded.value
    #expect(run.workflow == "forgotten")
    #expect(run.outcome == nil)
  }

  @Test("A second recorder uses the tables that are there")
  func secondRecorder() async throws {
    try workflow.add("pack") { 1 }
    let recorded = recorder.record(workflow)
    workflow.start()
    let first = try await recorded.value
    let other = Workflow(name: "other")
    try other.add("pack") { 1 }
    let again = try WorkflowRecorder(database).record(other)
    other.start()
    let second = try await again.value
    #expect(second.id > first.id)
    #expect(try await database.read { db in try WorkflowRun.fetchCount(db) } == 2)
  }

  @Test("A workflow that resumes from its journal has rows for the tasks that run again only")
  func besideJournal() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "GRDB-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let journal = WorkflowJournal(url: folder.appending(path: "order.journal"))

    /// Makes and runs the workflow as a process of its own would do.
    func run(sending send: @escaping @Sendable (Int) throws -> Int) async throws -> WorkflowRun {
      let workflow = Workflow(name: "order")
      let pack = try workflow.add("pack") { 1 }.journaled(as: "pack")
      try workflow.add("send", after: pack) { try send($0) }.journaled(as: "send")
      try workflow.resume(from: journal)
      let recorded = recorder.record(workflow)
      workflow.start()
      defer { workflow.closeJournal() }
      return try await recorded.value
    }

    let first = try await run { _ in throw TestError.first }
    #expect(first.outcome == "failed")
    let second = try await run { $0 }
    #expect(second.outcome == "finished")
    #expect(
      try await events(of: second).compactMap { event in event.task.map { "\(event.kind) \($0)" } }
        == ["taskDidStart send", "taskDidFinish send"])
  }

  @Test("Two workflows are recorded side by side, each in its own run")
  func sideBySide() async throws {
    let workflows = try (0..<4).map { number in
      let workflow = Workflow(name: "w\(number)")
      try workflow.add("task \(number)") { number }
      return workflow
    }
    let recordings = workflows.map { recorder.record($0) }
    for workflow in workflows { workflow.start() }
    for (number, recording) in recordings.enumerated() {
      let run = try await recording.value
      #expect(run.workflow == "w\(number)")
      #expect(try await events(of: run).compactMap(\.task) == ["task \(number)", "task \(number)"])
    }
  }
}
