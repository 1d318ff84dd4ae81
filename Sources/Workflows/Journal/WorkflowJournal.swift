import Foundation

/// A file in which a workflow records the results of its tasks, so that a run goes on
/// where it was when its process ended.
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
/// The first time the file is made, and the workflow runs from the beginning. If the
/// process ends before the workflow has, whatever ends it, the next start of the same
/// program finds the recorded tasks finished, with their results, and runs the others.
///
/// ## What is recorded, and when
///
/// Tasks that have an identifier, given with `journaled(as:version:)`.
/// When the work of such a task has ended well, its result is encoded, appended to the
/// file and synced to the disk; after that the task is finished, and its dependents
/// begin. So every result that another task may have seen is in the file. Until then
/// the task executes, but it takes no room of ``Workflow/maxConcurrentTaskCount`` and
/// blocks no thread. Results that come at the same time share one sync.
///
/// If a result cannot be encoded or written, its task fails with a
/// ``WorkflowJournalError``.
///
/// Resetting a task removes its record, and those of the tasks that depend on it. A task
/// whose record is removed does not run again before that is on the disk.
///
/// ## Who may use the file
///
/// One workflow at a time, from ``Workflow/resume(from:onMismatch:)`` until it is
/// released; subworkflows use the file of the workflow around them. A second one, in
/// this process or another, gets ``WorkflowJournalError/inUse(_:)``. The lock belongs
/// to the process, so a crash leaves none behind. The file must be on a disk whose
/// system supports locks and syncs; most network file systems do neither well.
public struct WorkflowJournal: Sendable, Hashable {
  /// The file.
  public let url: URL

  /// Names a journal; the file is neither made nor read yet.
  ///
  /// - Parameter url: The file. Its folder must exist and be writable.
  public init(url: URL) { self.url = url }

  /// What ``Workflow/resume(from:onMismatch:)`` does if the journal does not fit the
  /// workflow.
  public enum MismatchPolicy: Sendable, Hashable {
    /// Throws ``WorkflowJournalError/mismatch(_:)``, and changes neither.
    case fail
    /// Drops the records that do not fit, and those of the tasks that depend on them;
    /// the tasks run again.
    case runAgain
  }
}
