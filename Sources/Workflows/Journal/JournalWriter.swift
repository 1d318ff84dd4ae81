import Foundation
import Futures

/// Appends to a journal, with one write and one sync for all entries that arrive
/// meanwhile.
///
///   recordings, forgettings ──▶ waiting ──▶ one batch ──▶ write, sync ──▶ parcel
///                               (lock)      (queue)                       (to the cores)
///
/// The queue has a thread of its own while it writes, and calls only system code. The
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
        box: ResultObject, coding: any JournaledResult, time: Double, after: [String: Int],
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
    /// The number of the line of a recording; `nil` if the task was forgotten meanwhile.
    let outcome: Result<Int?, WorkflowJournalError>
  }

  /// A valid record in the file.
  private struct Living {
    let n: Int
    let owner: ObjectIdentifier
  }

  /// The end of the file, as far as it is written.
  private final class Tail: @unchecked Sendable {
    // Sendable: only used on the queue of the writer, one block after the other.
    var lastNumber: Int
    var forgets: Int
    var lastSubject: JournalFormat.Subject?
    var length: Int
    var living: [String: Living]
    /// For each task, the ticket up to which its recordings are void.
    var forgotten: [String: UInt64] = [:]
    /// The tasks whose forgetting could not be written yet.
    var owed: [String] = []
    /// The error because of which nothing more can be written.
    var failure: Int32?
    /// The file; `nil` when closed.
    var file: JournalFile?

    init(_ file: JournalFile, _ end: JournalEnd) {
      self.file = file
      lastNumber = end.lastNumber
      forgets = end.forgets
      lastSubject = end.lastSubject
      length = end.length
      living = end.records.mapValues { Living(n: $0.n, owner: ObjectIdentifier($0.task)) }
    }
  }

  private struct Waiting {
    var entries: [Entry] = []
    var isWriting = false
  }

  private let url: URL
  private let salt: UInt64
  private let waiting = Lock(Waiting())
  private let tail: Tail
  private let queue = DispatchQueue(label: "Properations.WorkflowJournal")
  private let lastTicket = Atomic<UInt64>(0)

  init(_ file: JournalFile, end: JournalEnd) {
    url = file.url
    salt = end.salt
    tail = Tail(file, end)
  }

  /// Returns a number that is higher than all earlier ones.
  func nextTicket() -> UInt64 { lastTicket.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Takes entries that are written together.
  func append(_ entries: [Entry]) {
    let begins = waiting.withLock { waiting in
      waiting.entries += entries
      defer { waiting.isWriting = true }
      return !waiting.isWriting
    }
    if begins { queue.async { [self] in writeAll() } }
  }

  /// Waits until everything appended is written, and closes the file.
  func close() { queue.sync { tail.file = nil } }

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
    return entries.isEmpty ? nil : Parcel.parcels(of: write(entries))
  }

  // MARK: One batch

  private func write(_ entries: [Entry]) -> [Done] {
    var (forgets, numbers): ([String], [Int: Int]) = (tail.owed, [:])
    for entry in entries {
      guard case .forgetting = entry.content else { continue }
      tail.forgotten[entry.identifier] = max(
        entry.ticket, tail.forgotten[entry.identifier] ?? 0)
      if tail.living[entry.identifier] != nil { forgets.append(entry.identifier) }
    }
    var text = Text(after: tail, salt: salt)
    for identifier in forgets { text.forget(identifier) }
    var (added, duplicates): ([String: Living], Set<Int>) = ([:], [])
    for (i, entry) in entries.enumerated() {
      guard case .recording(_, let coding, let time, let after, let data) = entry.content,
        entry.ticket > tail.forgotten[entry.identifier] ?? 0
      else { continue }
      let owner = ObjectIdentifier(entry.task)
      let other = added[entry.identifier] ?? tail.living[entry.identifier]
      guard other == nil || other?.owner == owner else {
        duplicates.insert(i)
        continue
      }
      numbers[i] = text.finish(
        entry.identifier, version: coding.version, time: time, after: after, data)
      added[entry.identifier] = Living(n: text.lastNumber, owner: owner)
    }
    let code = text.isEmpty ? 0 : commit(&text)
    if code == 0 {
      for identifier in forgets { tail.living[identifier] = nil }
      tail.living.merge(added) { $1 }
    }
    tail.owed = code == 0 ? [] : forgets
    return entries.enumerated().map { i, entry in
      if duplicates.contains(i) {
        return Done(entry: entry, outcome: .failure(.duplicateIdentifier(entry.identifier)))
      }
      guard code != 0, numbers[i] != nil else {
        return Done(entry: entry, outcome: .success(numbers[i]))
      }
      return Done(
        entry: entry,
        outcome: .failure(.cannotWrite(entry.identifier, url, code: code)))
    }
  }

  /// Writes and syncs lines; returns the error number, or zero.
  private func commit(_ text: inout Text) -> Int32 {
    if let failure = tail.failure { return failure }
    guard let file = tail.file else { return EBADF }
    text.mark()
    let (code, syncCode) = file.append(text.bytes)
    if code == 0, syncCode == 0 {
      tail.lastNumber = text.lastNumber
      tail.forgets = text.forgets
      tail.lastSubject = text.lastSubject
      tail.length += text.bytes.count
      return 0
    }
    // A part of the lines may be in the file. After a failed sync the system does not
    // report which part, not even at the next sync. Such a file is not written to again.
    if !file.cut(to: tail.length) || syncCode != 0 { tail.failure = code == 0 ? syncCode : code }
    return code == 0 ? syncCode : code
  }

  /// Lines to append to those of the file.
  private struct Text {
    let salt: UInt64
    var bytes: [UInt8] = []
    var lastNumber: Int
    var forgets: Int
    var lastSubject: JournalFormat.Subject?

    init(after tail: Tail, salt: UInt64) {
      self.salt = salt
      (lastNumber, forgets, lastSubject) = (tail.lastNumber, tail.forgets, tail.lastSubject)
    }

    var isEmpty: Bool { bytes.isEmpty }

    private mutating func append(
      _ data: Data = Data(), _ describe: (inout JournalFormat.Record) -> Void = { _ in }
    ) {
      lastNumber += 1
      var record = JournalFormat.Record(n: lastNumber, forgets: forgets, before: lastSubject)
      describe(&record)
      bytes += JournalFormat.line(record, data: data, salt: salt)
      lastSubject = record.subject
    }

    mutating func forget(_ identifier: String) {
      append { $0.forgot = identifier }
      forgets += 1
    }

    mutating func finish(
      _ identifier: String, version: Int, time: Double, after: [String: Int], _ data: Data
    ) -> Int {
      append(data) { record in
        record.finished = identifier
        record.version = version
        record.time = time
        if !after.isEmpty { record.after = after }
      }
      return lastNumber
    }

    mutating func mark() { append() }
  }

  // MARK: After the write

  /// The outcomes of one batch for one workflow.
  ///
  /// The writing thread must not release the entries: that may release tasks, workflows
  /// and results.
  private final class Parcel: @unchecked Sendable {
    // Sendable: made by one thread, and then only used by the thread that delivers it.
    private var contents: [Done] = []

    static func parcels(of written: [Done]) -> [Parcel] {
      var parcels: [Parcel] = []
      var places: [ObjectIdentifier: Int] = [:]
      for done in written {
        let core = ObjectIdentifier(done.entry.core)
        if places[core] == nil {
          places[core] = parcels.count
          parcels.append(Parcel())
        }
        if let place = places[core] { parcels[place].contents.append(done) }
      }
      return parcels
    }

    func deliver() {
      let written = contents
      contents = []
      written.first?.entry.core.journalHasWritten(written)
    }
  }
}

/// The end of a journal, which the writer continues.
struct JournalEnd {
  let salt: UInt64
  let lastNumber: Int
  let forgets: Int
  let lastSubject: JournalFormat.Subject?
  let length: Int
  /// The valid records in the file, and their tasks.
  let records: [String: (n: Int, task: AnyWorkflowTask)]
}
