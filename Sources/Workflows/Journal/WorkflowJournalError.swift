import Foundation

/// An error in the use of a journal.
///
/// Tasks are named by their identifiers in the journal.
public enum WorkflowJournalError: Error, Sendable, Hashable {
  /// Another workflow uses the file, in this process or in another one.
  case inUse(URL)
  /// The file cannot be opened, read or created; with the system's error number.
  case unusable(URL, code: Int32)
  /// The file is not a journal.
  ///
  /// It is left unchanged.
  case notAJournal(URL)
  /// The file was written by a newer version of the package.
  case newerFormat(URL, format: Int)
  /// Recorded tasks are not in the workflow, or have changed.
  case mismatch(WorkflowResumption)
  /// Two tasks of a workflow, or of workflows inside it, have the same identifier.
  case duplicateIdentifier(String)
  /// The workflow has begun, or already uses a journal.
  case alreadyBegun(workflow: String)
  /// A task's result could not be encoded, with the reason; the task fails with this
  /// error.
  case cannotEncode(String, reason: String)
  /// A task's result could not be written, or its old record could not be removed, with the
  /// system's error number; the task fails with this error.
  case cannotWrite(String, URL, code: Int32)
  /// A ``WorkflowJournalStorage`` cannot be opened or repaired; with its name and its error.
  case unusableStorage(String, reason: String)
  /// A task's result could not be recorded in a storage, or its old record could not be
  /// removed from it, with the error of the storage; the task fails with this error.
  case cannotRecord(String, storage: String, reason: String)
}

extension WorkflowJournalError: CustomStringConvertible {
  /// The same sentence as `errorDescription`.
  public var description: String { errorDescription ?? "A journal error occurred." }
}

extension WorkflowJournalError: LocalizedError {
  /// What happened and what to do about it, in one or two sentences of bounded length.
  public var errorDescription: String? {
    switch self {
    case .inUse(let url):
      "Another workflow uses the journal \(name(url)). Wait until it is released or its process "
        + "has ended, or give this one a file of its own."
    case .unusable(let url, let code):
      "The journal \(name(url)) cannot be used: \(text(of: code)). Check that its folder exists "
        + "and is writable."
    case .notAJournal(let url):
      "\(name(url)) is not a journal of a workflow. Name another file, or remove this one."
    case .newerFormat(let url, let format):
      "The journal \(name(url)) has format \(format), which this version does not know. Update the "
        + "package, or name another file."
    case .mismatch(let resumption):
      "The journal does not fit the workflow. " + details(of: resumption)
        + "Restore what the tasks were, or resume with onMismatch: .runAgain."
    case .duplicateIdentifier(let identifier):
      "Two tasks are recorded as \(TaskNames.quoted(identifier)). Give each an identifier of its "
        + "own, in subworkflows too."
    case .alreadyBegun(let workflow):
      "\(TaskNames.quoted(workflow)) has begun, or already uses a journal. Resume it once, before "
        + "it starts."
    case .cannotEncode(let identifier, let reason):
      "The result of \(TaskNames.quoted(identifier)) cannot be recorded: "
        + "\(TaskNames.reason(reason)). Make it a value that JSON can hold, or do not record the task."
    case .cannotWrite(let identifier, let url, let code):
      "The result of \(TaskNames.quoted(identifier)) cannot be written to \(name(url)): "
        + "\(text(of: code)). Solve the problem, for example free disk space, and retry the task."
    case .unusableStorage(let storage, let reason):
      "The journal \(TaskNames.quoted(storage)) cannot be used: "
        + "\(TaskNames.reason(reason)). Solve the problem, and resume again."
    case .cannotRecord(let identifier, let storage, let reason):
      "The result of \(TaskNames.quoted(identifier)) cannot be recorded in "
        + "\(TaskNames.quoted(storage)): \(TaskNames.reason(reason)). Solve the problem, and retry "
        + "the task."
    }
  }

  private func name(_ url: URL) -> String { TaskNames.quoted(url.path) }

  private func text(of code: Int32) -> String { String(cString: strerror(code)) }

  private func details(of resumption: WorkflowResumption) -> String {
    func sentence(_ title: String, _ count: Int, _ name: (Int) -> String) -> String {
      count == 0 ? "" : "\(title): \(TaskNames.list(count, limit: 10, name)). "
    }
    let (unknown, changed) = (resumption.unknown, resumption.changed)
    return sentence("Not in the workflow", unknown.count) { TaskNames.quoted(unknown[$0]) }
      + sentence("Changed", changed.count) { changed[$0].description }
  }
}
