import Foundation
import Futures

/// Writes to a journal, once for all entries that arrive meanwhile.
///
///   recordings, forgettings ──▶ waiting ──▶ one batch ──▶ backend ──▶ parcel
///                               (lock)      (queue)                   (to the cores)
///
/// The queue has a thread of its own while it writes, and calls only the backend. The
/// consequences of a write happen on another thread and therefore delay no other write.
///
/// Another thread may reset a result that is on its way to the disk. Its recording may
/// then arrive after its forgetting. Tickets show which of them is older; they are issued
/// with the workflow's lock held.
final class JournalWriter: Sendable {
  /// A result to record, or a record to forget.
  struct Entry {
    enum Content {
      case recording(
        box: ResultObject, coding: any JournaledResult, date: Date, after: [String: Int],
        data: Data)
      case forgetting
    }
    let core: WorkflowCore
    let task: AnyWorkflowTask
    let identifier: String
    let ticket: UInt64
    let content: Content
  }

  /// The outcome for an entry.
  struct Done {
    let entry: Entry
    /// The number of the record; `nil` if the task was forgotten meanwhile.
    let outcome: Result<Int?, WorkflowJournalError>
  }

  /// What the journal contains, as far as it is written.
  private final class Tail: @unchecked Sendable {
    // Sendable: only used on the queue of the writer, one block after the other.

    /// The tasks that have a valid record.
    var owners: [String: ObjectIdentifier]
    /// For each task, the ticket up to which its recordings are void.
    var forgotten: [ObjectIdentifier: UInt64] = [:]
    /// The tasks whose forgetting could not be written yet.
    var owed: [String] = []

    init(_ owners: [String: ObjectIdentifier]) { self.owners = owners }
  }

  private struct Waiting {
    var entries: [Entry] = []
    var isWriting = false
  }

  private let backend: any JournalBackend
  private let waiting = Lock(Waiting())
  private let tail: Tail
  private let queue = DispatchQueue(label: "Properations.WorkflowJournal")
  private let lastTicket = Atomic<UInt64>(0)
  /// How many tasks have the results that were restored from the journal.
  ///
  /// Only changed with the workflow's lock held.
  private let restoredCount: Atomic<Int>

  /// - Parameter tasks: The tasks that have a valid record, and whose results are restored.
  init(_ backend: any JournalBackend, recorded tasks: [String: AnyWorkflowTask]) {
    self.backend = backend
    restoredCount = Atomic(tasks.count)
    tail = Tail(tasks.mapValues { ObjectIdentifier($0) })
  }

  deinit { writeOwed() }

  /// Returns a number that is higher than all earlier ones.
  func nextTicket() -> UInt64 { lastTicket.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Whether a task has a result that was restored from the journal.
  var hasRestored: Bool { restoredCount.load(ordering: .relaxed) > 0 }

  /// Notes that a task has lost such a result.
  func hasLostRestored() { _ = restoredCount.wrappingSubtract(1, ordering: .relaxed) }

  /// Takes entries that are written together.
  func append(_ entries: [Entry]) {
    let begins = waiting.withLock { waiting in
      waiting.entries += entries
      defer { waiting.isWriting = true }
      return !waiting.isWriting
    }
    if begins { queue.async { [self] in noting { writeAll() } } }
  }

  /// Waits until everything appended is written, and lets others use the journal.
  ///
  /// Inside a write of the backend, the journal is closed after that write: a storage of the
  /// user may release the last reference to the workflow there.
  func close() {
    // The thread tells, not the present queue: a storage may use a queue of its own, with `sync`.
    if WorkflowThread.existing?.writers.contains(ObjectIdentifier(self)) == true {
      queue.async { [self] in closeBackend() }
    } else {
      queue.sync { closeBackend() }
    }
  }

  private func closeBackend() {
    noting {
      // Another thread may be about to ask for it.
      writeAll()
      writeOwed()
      backend.close()
    }
  }

  /// On the queue: notes for the length of a call that the thread is in it.
  private func noting(_ body: () -> Void) {
    let thread = WorkflowThread.current
    thread.writers.append(ObjectIdentifier(self))
    body()
    thread.writers.removeLast()
  }

  /// Tries once more to write the forgettings that could not be written.
  ///
  /// No later change will contain them, and the next process would restore the results.
  private func writeOwed() {
    _ = write([])
    tail.owed = []
  }

  private func writeAll() {
    while let parcels = nextParcels() {
      for parcel in parcels {
        // On a thread of its own: the consequences may call code that blocks.
        DispatchQueue(label: "Properations.WorkflowJournal.written").async { parcel.deliver() }
      }
    }
  }

  /// Writes the waiting entries and returns what to deliver; `nil` if none waits.
  private func nextParcels() -> [Parcel]? {
    let entries = waiting.withLock { waiting in
      let entries = waiting.entries
      waiting.entries = []
      waiting.isWriting = !entries.isEmpty
      return entries
    }
    if entries.isEmpty { return nil }
    let byCore = Dictionary(grouping: write(entries)) { ObjectIdentifier($0.entry.core) }
    return byCore.values.map { Parcel($0) }
  }

  // MARK: One batch

  private func write(_ entries: [Entry]) -> [Done] {
    var forgets = tail.owed
    var forgotten = Set(forgets)
    for entry in entries {
      guard case .forgetting = entry.content else { continue }
      let task = ObjectIdentifier(entry.task)
      tail.forgotten[task] = max(entry.ticket, tail.forgotten[task] ?? 0)
      // Not the record of another task with this identifier.
      if tail.owners[entry.identifier] == task, forgotten.insert(entry.identifier).inserted {
        forgets.append(entry.identifier)
      }
    }
    var changes = forgets.map { WorkflowJournalChange.forget(identifier: $0) }
    var (added, duplicates): ([String: ObjectIdentifier], Set<Int>) = ([:], [])
    // The numbers of the records, by entry.
    var numbers: [Int: Int] = [:]
    for (i, entry) in entries.enumerated() {
      guard case .recording(_, let coding, let date, let after, let data) = entry.content,
        entry.ticket > tail.forgotten[ObjectIdentifier(entry.task)] ?? 0
      else { continue }
      let owner = ObjectIdentifier(entry.task)
      let other = added[entry.identifier] ?? tail.owners[entry.identifier]
      guard other == nil || other == owner else {
        duplicates.insert(i)
        continue
      }
      let number = backend.lastNumber + changes.count + 1
      changes.append(
        .record(
          WorkflowJournalRecord(
            identifier: entry.identifier, version: coding.version, number: number, date: date,
            prerequisites: after, data: data)))
      numbers[i] = number
      added[entry.identifier] = owner
    }
    let failure = commit(changes)
    if failure == nil {
      for identifier in forgets { tail.owners[identifier] = nil }
      tail.owners.merge(added) { $1 }
    }
    tail.owed = failure == nil ? [] : forgets
    return entries.enumerated().map { i, entry in
      if duplicates.contains(i) {
        return Done(entry: entry, outcome: .failure(.duplicateIdentifier(entry.identifier)))
      }
      let isChange =
        if case .forgetting = entry.content { forgotten.contains(entry.identifier) } else {
          numbers[i] != nil
        }
      guard let failure, isChange else {
        return Done(entry: entry, outcome: .success(numbers[i]))
      }
      return Done(entry: entry, outcome: .failure(failure.error(of: entry.identifier)))
    }
  }

  /// Makes changes, if there are any.
  private func commit(_ changes: [WorkflowJournalChange]) -> JournalFailure? {
    if changes.isEmpty { return nil }
    do throws(JournalFailure) { try backend.write(changes) } catch { return error }
    return nil
  }

  // MARK: After the write

  /// The outcomes of one batch for one workflow.
  ///
  /// The writing thread must not release the entries: that may release tasks, workflows
  /// and results.
  private final class Parcel: @unchecked Sendable {
    // Sendable: made by one thread, and then only used by the thread that delivers it.
    private var contents: [Done]

    init(_ contents: [Done]) { self.contents = contents }

    func deliver() {
      let written = contents
      contents = []
      written.first?.entry.core.journalHasWritten(written)
    }
  }
}
