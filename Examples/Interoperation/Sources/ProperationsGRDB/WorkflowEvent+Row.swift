import Foundation
import GRDB
import Properations

extension WorkflowEvent {
  /// Inserts the event as a row, and writes the end of the run into its row.
  func insert(in run: Int64, _ db: Database) throws {
    let now = Date()
    let row = row
    try db.execute(
      sql: """
        INSERT INTO workflowEvent (runID, kind, task, attempt, error, recordedAt)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
      arguments: [run, row.kind, row.task, row.attempt, row.error, now])
    guard case .runDidEnd(let outcome) = self else { return }
    try db.execute(
      sql: "UPDATE workflowRun SET endedAt = ?, outcome = ?, summary = ? WHERE id = ?",
      arguments: [now, outcome.name, "\(outcome)", run])
  }

  private struct Row {
    var kind: String
    var task: String?
    var attempt: Int?
    var error: String?
  }

  private var row: Row {
    switch self {
    case .workflowWillStart: Row(kind: "workflowWillStart")
    case .workflowWillCancel: Row(kind: "workflowWillCancel")
    case .workflowWillReset: Row(kind: "workflowWillReset")
    case .workflowWillRetry: Row(kind: "workflowWillRetry")
    case .workflowDidFinish: Row(kind: "workflowDidFinish")
    case .runDidEnd: Row(kind: "runDidEnd")
    case .taskDidStart(let task): Row(kind: "taskDidStart", task: task.name)
    case .taskDidFinish(let task): Row(kind: "taskDidFinish", task: task.name)
    case .taskDidFail(let task):
      Row(kind: "taskDidFail", task: task.name, error: task.error.map { "\($0)" })
    case .taskDidCancel(let task): Row(kind: "taskDidCancel", task: task.name)
    case .taskDidSkip(let task): Row(kind: "taskDidSkip", task: task.name)
    case .taskDidReset(let task): Row(kind: "taskDidReset", task: task.name)
    case .taskAttemptDidFail(let task, let attempt):
      Row(
        kind: "taskAttemptDidFail", task: task.name, attempt: attempt.number,
        error: "\(attempt.error)")
    case .taskDidRetry(let task): Row(kind: "taskDidRetry", task: task.name)
    }
  }
}

extension WorkflowOutcome {
  fileprivate var name: String {
    switch self {
    case .finished: "finished"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .stuck: "stuck"
    }
  }
}
