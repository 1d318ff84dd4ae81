import Foundation
import GRDB
import Properations

/// Records what happens in workflows in an SQLite database, for queries.
///
/// ```swift
/// let recorder = try WorkflowRecorder(DatabaseQueue(path: "workflows.sqlite"))
/// let recorded = recorder.record(workflow)
/// workflow.start()
/// let run = try await recorded.value
/// ```
///
/// The tables are `workflowRun` and `workflowEvent`; the view `workflowTask` has the latest
/// event of each task. The rows are a history, not a journal: a workflow cannot continue from
/// them. Use `SQLiteJournal` for that, alone or beside the recorder.
///
/// ## What is guaranteed
///
/// Every event is a row, in the order of the events, in a transaction of its own. A row is
/// written after the event; the workflow does not wait for it. If the process ends suddenly,
/// the events that waited are missing. The end of the run is the last row, and is written
/// together with the outcome. So the rows of a run with an outcome are complete.
///
/// If the database fails, the recording ends with its error, and the workflow continues.
public struct WorkflowRecorder: Sendable {
  private let database: any DatabaseWriter

  /// Makes the tables if they do not exist.
  ///
  /// - Parameter database: The database. It may have other tables.
  /// - Throws: The error of the database.
  public init(_ database: any DatabaseWriter) throws {
    self.database = database
    try Self.migrator.migrate(database)
  }

  /// Records a workflow from now on, up to the end of its run.
  ///
  /// Call it before you start the workflow. The tasks of the workflows inside are recorded too.
  /// Cancelling the future ends the recording, and not the run.
  ///
  /// - Parameter workflow: The workflow. The recording does not keep it alive.
  /// - Returns: A future of the run, when its end is in the database. It fails with the error of
  ///   the database. If the workflow is released before the run has ended, the run has no
  ///   outcome.
  public func record(
    _ workflow: Workflow, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<WorkflowRun> {
    // The stream keeps the events from this call on.
    let (name, events, database) = (workflow.name, workflow.events, database)
    return Promises.async(fileID: fileID, line: line) {
      let run = try await database.write { db in
        try db.execute(
          sql: "INSERT INTO workflowRun (workflow, beganAt) VALUES (?, ?)",
          arguments: [name, Date()])
        return db.lastInsertedRowID
      }
      for await event in events {
        try await database.write { db in try event.insert(in: run, db) }
        if case .runDidEnd = event { break }
      }
      // The task may have been cancelled, and then the stream has ended.
      try Task.checkCancellation()
      return try await database.read { db in try WorkflowRun.find(db, key: run) }
    }
  }

  private static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("Properations.1") { db in
      try db.create(table: "workflowRun") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("workflow", .text).notNull()
        table.column("beganAt", .datetime).notNull()
        table.column("endedAt", .datetime)
        table.column("outcome", .text)
        table.column("summary", .text)
      }
      try db.create(table: "workflowEvent") { table in
        table.autoIncrementedPrimaryKey("id")
        table.column("runID", .integer).notNull().indexed()
          .references("workflowRun", onDelete: .cascade)
        table.column("kind", .text).notNull()
        table.column("task", .text)
        table.column("attempt", .integer)
        table.column("error", .text)
        table.column("recordedAt", .datetime).notNull()
      }
      try db.execute(
        sql: """
          CREATE VIEW workflowTask AS
          SELECT runID, task, kind, error, recordedAt FROM workflowEvent AS event
          WHERE id = (
            SELECT MAX(id) FROM workflowEvent WHERE runID = event.runID AND task = event.task)
          """)
    }
    return migrator
  }
}
