import Foundation
import GRDB
import Properations

/// The journal of a workflow in an SQLite database, where other programs can query the results.
///
/// ```swift
/// let journal = try SQLiteJournal(DatabaseQueue(path: "orders.sqlite"))
/// try workflow.resume(from: journal)
/// let outcome = try await workflow.run()
/// ```
///
/// Each recorded task is a row of the table `workflowResult`, with its result as JSON. A database
/// may have the journals of several workflows, under different names, and other tables.
///
/// ## What is guaranteed
///
/// The results that become known together are written in one transaction, before the tasks that
/// depend on them begin. What survives a power cut is what SQLite has synced: with
/// `PRAGMA synchronous = FULL`, the default of a `DatabaseQueue`, that is every transaction.
/// With the `NORMAL` of a `DatabasePool`, it is every one up to a moment; the end of a process
/// alone loses nothing.
///
/// One workflow at a time uses a name. The lock is a file beside the database, and ends with the
/// process. A database in memory cannot be reached by other processes, and needs no file.
public final class SQLiteJournal: WorkflowJournalStorage {
  /// The error for a journal that another workflow uses.
  public struct InUse: Error, LocalizedError {
    /// What happened and what to do about it.
    public var errorDescription: String? {
      "another workflow uses it; wait until it is released, or give this one another name"
    }
  }

  /// The path of the database, and the name of the journal.
  public let name: String
  private let journal: String
  private let database: any DatabaseWriter
  private let lock: JournalLock

  /// Makes the table if it does not exist.
  ///
  /// - Parameters:
  ///   - database: The database.
  ///   - name: The name of the journal in the database.
  /// - Throws: The error of the database.
  public init(_ database: any DatabaseWriter, name: String = "workflow") throws {
    self.database = database
    journal = name
    self.name = "\(database.path), \(name)"
    lock = JournalLock(of: name, in: database)
    try database.write { db in
      try db.create(table: "workflowResult", options: .ifNotExists) { table in
        table.primaryKey {
          table.column("journal", .text)
          table.column("task", .text)
        }
        table.column("version", .integer).notNull()
        table.column("number", .integer).notNull()
        table.column("finishedAt", .double).notNull()
        table.column("prerequisites", .text).notNull()
        table.column("result", .text).notNull()
      }
    }
  }

  /// Takes the lock, and reads the rows.
  public func open() throws -> [WorkflowJournalRecord] {
    guard try lock.take() else { throw InUse() }
    do {
      return try database.read { db in
        try Row.fetchAll(
          db, sql: "SELECT * FROM workflowResult WHERE journal = ?", arguments: [journal]
        ).map { row in try WorkflowJournalRecord(row) }
      }
    } catch {
      lock.giveBack()
      throw error
    }
  }

  /// Makes changes in one transaction.
  public func write(_ changes: [WorkflowJournalChange]) throws {
    try database.write { db in
      for change in changes {
        switch change {
        case .record(let record): try record.save(in: journal, db)
        case .forget(let task):
          try db.execute(
            sql: "DELETE FROM workflowResult WHERE journal = ? AND task = ?",
            arguments: [journal, task])
        }
      }
    }
  }

  /// Gives the lock back.
  public func close() { lock.giveBack() }
}

extension WorkflowJournalRecord {
  fileprivate init(_ row: Row) throws {
    self.init(
      identifier: row["task"], version: row["version"], number: row["number"],
      date: Date(timeIntervalSince1970: row["finishedAt"]),
      prerequisites: try JSONDecoder().decode(
        [String: Int].self, from: Data((row["prerequisites"] as String).utf8)),
      data: Data((row["result"] as String).utf8))
  }

  fileprivate func save(in journal: String, _ db: Database) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    try db.execute(
      sql: """
        INSERT OR REPLACE INTO workflowResult
        (journal, task, version, number, finishedAt, prerequisites, result)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        journal, identifier, version, number, date.timeIntervalSince1970,
        String(decoding: try encoder.encode(prerequisites), as: UTF8.self),
        String(decoding: data, as: UTF8.self),
      ])
  }
}
