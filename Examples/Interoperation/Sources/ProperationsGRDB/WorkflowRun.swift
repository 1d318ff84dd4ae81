import Foundation
import GRDB

/// A row of the table `workflowRun`: one recording of a workflow.
public struct WorkflowRun: Codable, Sendable, Hashable, FetchableRecord {
  /// The number of the row.
  public let id: Int64
  /// The name of the workflow.
  public let workflow: String
  /// When the recording began.
  public let beganAt: Date
  /// When the end of the run was recorded; `nil` if that has not happened.
  public let endedAt: Date?
  /// How the run ended: `finished`, `failed`, `cancelled` or `stuck`.
  public let outcome: String?
  /// A sentence with the names of the tasks.
  public let summary: String?
}

extension WorkflowRun: TableRecord {
  /// The name of the table.
  public static let databaseTableName = "workflowRun"
}

/// A row of the table `workflowEvent`: what has happened in a run.
public struct WorkflowEventRecord: Codable, Sendable, Hashable, FetchableRecord {
  /// The number of the row; it grows in the order of the events.
  public let id: Int64
  /// The run.
  public let runID: Int64
  /// The name of the event, such as `taskDidFinish`.
  public let kind: String
  /// The name of the task; `nil` if the event is about the workflow.
  public let task: String?
  /// The number of the attempt that has failed.
  public let attempt: Int?
  /// The error of a failed task or attempt, as text.
  public let error: String?
  /// When the event was recorded.
  public let recordedAt: Date
}

extension WorkflowEventRecord: TableRecord {
  /// The name of the table.
  public static let databaseTableName = "workflowEvent"
}
