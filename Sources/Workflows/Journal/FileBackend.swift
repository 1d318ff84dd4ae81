import Foundation

/// The file of a journal as the place that is written to.
final class FileBackend: JournalBackend, @unchecked Sendable {
  // Sendable: only used on the queue of the writer, one call after the other.
  private let url: URL
  private let salt: UInt64
  private(set) var lastNumber: Int
  private var forgets: Int
  private var lastSubject: JournalFormat.Subject?
  private var length: Int
  /// The error because of which nothing more can be written.
  private var failure: Int32?
  /// The file; `nil` when closed.
  private var file: JournalFile?

  init(_ file: JournalFile, _ end: JournalEnd) {
    url = file.url
    self.file = file
    salt = end.salt
    lastNumber = end.lastNumber
    forgets = end.forgets
    lastSubject = end.lastSubject
    length = end.length
  }

  func close() { file = nil }

  func write(_ changes: [WorkflowJournalChange]) throws(JournalFailure) {
    var text = Text(after: self)
    for change in changes { text.append(change) }
    text.mark()
    let code = append(text.bytes)
    guard code == 0 else { throw .file(url, code: code) }
    lastNumber = text.lastNumber
    forgets = text.forgets
    lastSubject = text.lastSubject
    length += text.bytes.count
  }

  /// Writes and syncs lines; returns the error number, or zero.
  private func append(_ bytes: [UInt8]) -> Int32 {
    if let failure { return failure }
    guard let file else { return EBADF }
    let (code, syncCode) = file.append(bytes)
    if code == 0, syncCode == 0 { return 0 }
    // A part of the lines may be in the file. After a failed sync the system does not
    // report which part, not even at the next sync. Such a file is not written to again.
    if !file.cut(to: length) || syncCode != 0 { failure = code == 0 ? syncCode : code }
    return code == 0 ? syncCode : code
  }

  /// Lines to append to those of the file.
  private struct Text {
    let salt: UInt64
    var bytes: [UInt8] = []
    var lastNumber: Int
    var forgets: Int
    var lastSubject: JournalFormat.Subject?

    init(after end: FileBackend) {
      salt = end.salt
      (lastNumber, forgets, lastSubject) = (end.lastNumber, end.forgets, end.lastSubject)
    }

    /// Adds a line, which has the next number.
    private mutating func append(
      _ data: Data = Data(), _ describe: (inout JournalFormat.Record) -> Void = { _ in }
    ) {
      lastNumber += 1
      var record = JournalFormat.Record(n: lastNumber, forgets: forgets, before: lastSubject)
      describe(&record)
      bytes += JournalFormat.line(record, data: data, salt: salt)
      lastSubject = record.subject
    }

    mutating func append(_ change: WorkflowJournalChange) {
      switch change {
      case .forget(let identifier):
        append { $0.forgot = identifier }
        forgets += 1
      case .record(let result):
        append(result.data) { record in
          record.finished = result.identifier
          record.version = result.version
          record.time = result.date.timeIntervalSince1970
          if !result.prerequisites.isEmpty { record.after = result.prerequisites }
        }
      }
    }

    /// Ends a write with a line without a subject.
    mutating func mark() { append() }
  }
}

/// The end of a file, which the backend continues.
struct JournalEnd {
  let salt: UInt64
  let lastNumber: Int
  let forgets: Int
  let lastSubject: JournalFormat.Subject?
  let length: Int
  /// The numbers of the valid records in the file.
  let numbers: [String: Int]
}
