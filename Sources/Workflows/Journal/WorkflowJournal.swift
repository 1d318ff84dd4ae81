import Foundation

/// A file in which a workflow records the results of its tasks, to continue in a later
/// process.
///
/// ```swift
/// let pages = AsyncWorkflowTask<[Page]>(name: "pages") { _ in try await loadPages() }
///   .journaled(as: "pages", version: 1)
/// try workflow.add(pages)
///
/// try workflow.resume(from: WorkflowJournal(url: file))
/// let outcome = try await workflow.run()
/// ```
///
/// The first time, the file is created, and the workflow runs from the beginning. If the
/// process ends before the workflow has finished, for whatever reason, the next start of
/// the program finds the recorded tasks finished, with their results, and runs the
/// others.
///
/// ## What is recorded, and when
///
/// The tasks that `journaled(as:version:)` gave an identifier are recorded. When the work
/// of such a task succeeds, its result is encoded, appended to the file and synced to the
/// disk. Then the task finishes, and its dependents begin. Every result that another task
/// may have seen is therefore in the file. Until then the task executes, but it takes no
/// room of ``Workflow/maxConcurrentTaskCount`` and blocks no thread. Its work is over: it
/// can no longer fail or exceed its timeout, and ``Workflow/timeout`` cancels it. Results
/// that arrive at the same time share one sync.
///
/// If a result cannot be encoded or written, its task fails with a
/// ``WorkflowJournalError``.
///
/// Resetting a task removes its record and the records of its dependents. The task does
/// not run again before the removal is on the disk. If it cannot be written, the task fails
/// instead.
///
/// ## Which workflows may use the file
///
/// One workflow at a time may use the file, from
/// ``Workflow/resume(from:onMismatch:)-(WorkflowJournal,_)`` until it is released.
/// Subworkflows use the file of the workflow around them. A second workflow, in this process
/// or another, gets ``WorkflowJournalError/inUse(_:)``. The lock belongs to the process, so a
/// crash leaves no lock behind. The file must be on a disk whose system supports locks and
/// syncs; most network file systems support neither well. For a database, see
/// ``WorkflowJournalStorage``.
public struct WorkflowJournal: Sendable, Hashable {
  /// The file.
  public let url: URL

  /// Names a journal.
  ///
  /// The file is not created or read yet.
  ///
  /// - Parameter url: The file. Its folder must exist and be writable.
  public init(url: URL) { self.url = url }

  /// What ``Workflow/resume(from:onMismatch:)-(WorkflowJournal,_)`` does if the journal does
  /// not fit the workflow.
  public enum MismatchPolicy: Sendable, Hashable {
    /// Throws ``WorkflowJournalError/mismatch(_:)`` and changes neither.
    case fail
    /// Drops the records that do not fit and those of their dependents; these tasks run
    /// again.
    case runAgain
  }
}
