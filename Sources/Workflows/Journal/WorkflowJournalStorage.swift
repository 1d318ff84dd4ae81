import Foundation

/// A place of your own for the journal of a workflow, such as a database.
///
/// ```swift
/// try workflow.resume(from: DatabaseJournal(database: database))
/// let outcome = try await workflow.run()
/// ```
///
/// A ``WorkflowJournal`` is a file, and needs no storage. Write a storage if other programs
/// have to query the results while the workflow runs, or if they belong beside other data.
/// <doc:SurvivingARestart> has the one of this example.
///
/// ## What a storage has to guarantee
///
/// - One workflow at a time uses it: ``open()`` throws while another one does, in this
///   process or another. A process that crashes must leave no lock behind.
/// - When ``write(_:)`` has returned, its changes survive the end of the process, and a
///   power cut if the results have to. If it throws, or the process ends before it has
///   returned, all its changes have taken place, or none has.
/// - A record is returned as it was written. A storage that finds damage leaves out the
///   damaged record: its task, and the recorded tasks that depend on it, run again.
///
/// The workflow keeps the storage, and calls one method at a time, with no lock held. On the
/// thread that resumes it, it calls ``open()``, and ``write(_:)`` if records have to go. Later
/// writes are on a thread that may block. ``close()`` is called there, or on the thread that
/// closes the journal or releases the workflow, after a last ``write(_:)`` if records that have
/// to go could not be removed before. The methods must not wait for the workflow. The thread that
/// closes the journal or releases the workflow waits for the writes under way: if that may be
/// the main thread, the methods must not wait for the main queue either.
public protocol WorkflowJournalStorage: Sendable {
  /// The name of the storage in errors, such as a path.
  var name: String { get }

  /// Excludes other users, and returns the records.
  ///
  /// The order does not matter. Of several records of a task, the one with the highest
  /// ``WorkflowJournalRecord/number`` counts.
  ///
  /// - Throws: If another workflow uses the storage, or it cannot be read.
  func open() throws -> [WorkflowJournalRecord]

  /// Makes changes, in their order: all of them or none.
  ///
  /// If it throws, the tasks whose results were to be recorded fail, or try again, as their
  /// retry policies say. The records to forget come again with the next changes, at the
  /// latest before their tasks run or before ``close()``.
  ///
  /// - Parameter changes: At least one change.
  /// - Throws: If the changes could not be made.
  func write(_ changes: [WorkflowJournalChange]) throws

  /// Lets others use the storage.
  ///
  /// Called once for each ``open()`` that has returned, after the last ``write(_:)``.
  func close()
}

/// A result of a task in a journal.
public struct WorkflowJournalRecord: Sendable, Hashable, Codable {
  /// The identifier of the task, from `journaled(as:version:)`.
  public let identifier: String
  /// The version of the task's work.
  public let version: Int
  /// The number of the record; it is higher than those of all records in the storage.
  public let number: Int
  /// When the task finished.
  public let date: Date
  /// The nearest recorded tasks that the task depends on, directly or through tasks that are
  /// not recorded, and the numbers of their records.
  ///
  /// The number is 0 for a task without a record: it has failed, and a task that runs all
  /// the same stands in between.
  public let prerequisites: [String: Int]
  /// The result: a JSON object with the key `result`, or without keys for a task without a
  /// result.
  public let data: Data

  /// Makes a record that was read from a storage.
  ///
  /// - Parameters:
  ///   - identifier: The identifier of the task.
  ///   - version: The version of the task's work.
  ///   - number: The number of the record.
  ///   - date: When the task finished.
  ///   - prerequisites: The nearest recorded tasks that the task depends on, and the numbers
  ///     of their records.
  ///   - data: The result as JSON.
  public init(
    identifier: String, version: Int, number: Int, date: Date, prerequisites: [String: Int],
    data: Data
  ) {
    self.identifier = identifier
    self.version = version
    self.number = number
    self.date = date
    self.prerequisites = prerequisites
    self.data = data
  }
}

/// A change of a journal.
public enum WorkflowJournalChange: Sendable, Hashable {
  /// A task has finished: its record replaces an earlier one.
  case record(WorkflowJournalRecord)
  /// A task was reset: it has no record any more.
  case forget(identifier: String)
}
