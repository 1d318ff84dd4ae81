import Foundation
import GRDB
import Properations
import ProperationsGRDB
import TestSupport
import Testing

@Suite("A journal in SQLite", .timeLimit(.minutes(1)))
final class SQLiteJournalTests {
  private let folder: URL
  private var path: String { folder.appending(path: "orders.sqlite").path }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "SQLiteJournal-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// A workflow as each process makes it.
  private func order(
    _ send: @escaping @Sendable (Int) throws -> String
  ) throws -> (workflow: Workflow, pack: WorkflowTask<Int>, send: WorkflowTask<String>) {
    let workflow = Workflow(name: "order")
    let pack = try workflow.add("pack") { 3 }.journaled(as: "pack")
    let sent = try workflow.add("send", after: pack) { try send($0) }.journaled(as: "send")
    return (workflow, pack, sent)
  }

  @Test("The example of the page: the next process goes on, and others query the results")
  func example() async throws {
    do {
      let (workflow, _, _) = try order { _ in throw TestError.first }
      let journal = try SQLiteJournal(DatabaseQueue(path: path))
      try workflow.resume(from: journal)
      let outcome = try await workflow.run()
      #expect(outcome.errors.count == 1)
      workflow.closeJournal()
    }
    let results = try await DatabaseQueue(path: path).read { db in
      try String.fetchAll(
        db, sql: "SELECT result ->> '$.result' FROM workflowResult WHERE task = 'pack'")
    }
    #expect(results == ["3"])

    let (workflow, pack, send) = try order { "sent \($0)" }
    defer { workflow.closeJournal() }
    let found = try workflow.resume(from: SQLiteJournal(DatabaseQueue(path: path)))
    #expect(found.restored == ["pack"] && pack.result == 3)
    #expect(try await workflow.run() == .finished)
    #expect(send.result == "sent 3")
  }

  @Test("Each result can be queried before the next task begins")
  func queried() async throws {
    let other = try DatabaseQueue(path: path)
    let journal = try SQLiteJournal(DatabaseQueue(path: path))
    let (workflow, _, send) = try order { _ in
      try other.read { db in
        try String.fetchAll(db, sql: "SELECT task FROM workflowResult").joined(separator: ",")
      }
    }
    defer { workflow.closeJournal() }
    try workflow.resume(from: journal)
    #expect(try await workflow.run() == .finished)
    #expect(send.result == "pack")
  }

  @Test(
    "A second workflow is refused until the first has closed the journal", arguments: [true, false])
  func inUse(isInMemory: Bool) async throws {
    let database = isInMemory ? try DatabaseQueue() : try DatabaseQueue(path: path)
    let journal = try SQLiteJournal(database, name: "a/b c")
    let second = isInMemory ? journal : try SQLiteJournal(DatabaseQueue(path: path), name: "a/b c")
    let (first, _, _) = try order { "\($0)" }
    try first.resume(from: journal)
    let (workflow, _, _) = try order { "\($0)" }
    #expect(throws: WorkflowJournalError.self) { try workflow.resume(from: second) }
    first.closeJournal()
    try workflow.resume(from: second)
    #expect(try await workflow.run() == .finished)
    workflow.closeJournal()
  }

  @Test("A reset removes the row, and another name of the same database has rows of its own")
  func reset() async throws {
    let database = try DatabaseQueue(path: path)
    let (workflow, pack, _) = try order { "\($0)" }
    try workflow.resume(from: SQLiteJournal(database, name: "one"))
    #expect(try await workflow.run() == .finished)
    let (other, _, _) = try order { "\($0)" }
    #expect(try other.resume(from: SQLiteJournal(database, name: "two")).restored.isEmpty)
    pack.reset()
    workflow.closeJournal()
    other.closeJournal()
    let rows = try await database.read { db in
      try Int.fetchOne(db, sql: "SELECT count(*) FROM workflowResult")
    }
    #expect(rows == 0)
  }

  @Test("A database that cannot be written fails the task with the reason")
  func failure() async throws {
    let database = try DatabaseQueue(path: path)
    let journal = try SQLiteJournal(database)
    let (workflow, pack, _) = try order { "\($0)" }
    defer { workflow.closeJournal() }
    try workflow.resume(from: journal)
    try await database.write { db in try db.execute(sql: "DROP TABLE workflowResult") }
    _ = try await workflow.run()
    guard case .cannotRecord("pack", _, let reason)? = pack.error as? WorkflowJournalError else {
      Issue.record("\(String(describing: pack.error))")
      return
    }
    #expect(reason.contains("workflowResult"))
  }
}
