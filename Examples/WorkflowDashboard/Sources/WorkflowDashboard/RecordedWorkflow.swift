import ExampleSupport
import Foundation
import Properations
import WorkflowWeb

/// A workflow that is read from a journal: its tasks are those that the journal has recorded.
///
/// The file says which tasks there are and what they depend on. Which records still count is
/// the library's decision: the workflow resumes from a copy of the file, so that the file
/// itself is neither locked nor repaired.
struct RecordedWorkflow {
  /// The error for a file that is no journal.
  struct NotAJournal: Error, LocalizedError {
    let file: String
    var errorDescription: String? { "'\(file)' is no journal of a workflow" }
  }

  /// A line of the file, as far as it is needed.
  private struct Line: Decodable {
    struct Record: Decodable {
      let n: Int?
      let finished: String?
      let version: Int?
      let after: [String: Int]?
    }

    /// What the task has made; a task of `Void` has no result.
    struct Document: Decodable { let result: JSONText? }

    let record: Record
    let data: Document?

    var hasResult: Bool { data?.result != nil }
  }

  let workflow: Workflow

  /// Results and errors of recorded tasks; no buttons.
  var presentation: WorkflowPresentation {
    var presentation = WorkflowPresentation()
    presentation.isReadOnly = true
    presentation.result = { ($0 as? WorkflowTask<JSONText>)?.result?.text }
    return presentation
  }

  init(journal file: URL) throws {
    let data: Data
    do { data = try Data(contentsOf: file) } catch {
      throw TextFileError(file: file.lastPathComponent, reason: error.message)
    }
    // The last record of each task counts.
    var records: [String: Line] = [:]
    var hasHeader = false
    for text in data.split(separator: UInt8(ascii: "\n")) {
      // A damaged line is left out here, and is no part of what the library accepts.
      guard let line = try? JSONDecoder().decode(Line.self, from: Data(text)) else { continue }
      hasHeader = true
      if let id = line.record.finished { records[id] = line }
    }
    guard hasHeader else { throw NotAJournal(file: file.lastPathComponent) }

    workflow = Workflow(name: file.lastPathComponent, context: .inline)
    var tasks: [String: AnyWorkflowTask] = [:]
    // A task is recorded after the tasks that it depends on.
    for (id, line) in records.sorted(by: { ($0.value.record.n ?? 0) < ($1.value.record.n ?? 0) }) {
      let version = line.record.version ?? 0
      let needed = (line.record.after ?? [:]).keys.sorted().compactMap { tasks[$0] }
      let task: AnyWorkflowTask
      if line.hasResult {
        task = BlockWorkflowTask<JSONText>(name: id) { $0.skip() }
          .journaled(as: id, version: version)
      } else {
        task = BlockWorkflowTask<Void>(name: id) { $0.skip() }.journaled(as: id, version: version)
      }
      try workflow.add(task, prerequisites: needed)
      tasks[id] = task
    }

    let folder = try makePrivateFolder(for: "RecordedWorkflow")
    defer { try? FileManager.default.removeItem(at: folder) }
    let copy = folder.appendingPathComponent("journal")
    try data.write(to: copy)
    do { _ = try workflow.resume(from: WorkflowJournal(url: copy), onMismatch: .runAgain) } catch {
      throw NotAJournal(file: file.lastPathComponent)
    }
    workflow.closeJournal()
  }
}

/// The error for a file that cannot be read.
struct TextFileError: Error, LocalizedError {
  let file: String
  let reason: String
  var errorDescription: String? { "cannot read '\(file)': \(reason)" }
}
