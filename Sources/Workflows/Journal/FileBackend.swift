import Foundation

/// The file of a journal as the place that is written to.
final class FileBackend: JournalBackend, @unchecked Sendable {
  // Sendable: only used on the queue of the writer, one call after the other.
  private let url: URL
  private var end: JournalEnd
  /// The sizes in bytes of the lines of valid records, and their sum.
  private var sizes: [String: Int]
  private var living: Int
  /// How much more than twice the valid records the file may contain.
  private var slack = FileBackend.leastSlack
  private static let leastSlack = 1 << 16
  /// The error because of which nothing more can be written.
  private var failure: Int32?
  /// The file; `nil` when closed.
  private var file: JournalFile?

  init(_ file: JournalFile, _ end: JournalEnd, sizes: [String: Int]) {
    url = file.url
    self.file = file
    self.end = end
    self.sizes = sizes
    living = sizes.values.reduce(0, +)
  }

  var lastNumber: Int { end.lastNumber }

  func close() { file = nil }

  func write(_ changes: [WorkflowJournalChange]) throws(JournalFailure) {
    var next = end
    var bytes: [UInt8] = []
    var newSizes: [(identifier: String, size: Int?)] = []
    for change in changes {
      let line = next.line(of: change)
      bytes += line
      switch change {
      case .forget(let identifier): newSizes.append((identifier, nil))
      case .record(let record): newSizes.append((record.identifier, line.count))
      }
    }
    bytes += next.mark()
    let code = append(bytes)
    guard code == 0 else { throw .file(url, code: code) }
    end = next
    for (identifier, size) in newSizes {
      living += (size ?? 0) - (sizes[identifier] ?? 0)
      sizes[identifier] = size
    }
    if end.length > 2 * living + slack { compact() }
  }

  /// Writes and syncs lines; returns the error number, or zero.
  private func append(_ bytes: [UInt8]) -> Int32 {
    if let failure { return failure }
    guard let file else { return EBADF }
    let (code, syncCode) = file.append(bytes)
    if code == 0, syncCode == 0 { return 0 }
    // A part of the lines may be in the file. After a failed sync the system does not
    // report which part, not even at the next sync. Such a file is not written to again.
    if !file.cut(to: end.length) || syncCode != 0 { failure = code == 0 ? syncCode : code }
    return code == 0 ? syncCode : code
  }

  /// Replaces the file by one without the lines that no longer count.
  ///
  /// If that fails, the file stays in use as it is. The next attempt comes when it has
  /// grown to twice its size. A damaged file is left to the next process, which reports
  /// the damage, unless no record counts. Another file that has got the name of this one
  /// stays.
  private func compact() {
    // For the case that this attempt fails.
    slack = 2 * (end.length - living)
    guard let file, file.hasItsName, let entries = validEntries(of: file) else { return }
    var (bytes, newEnd, newSizes) = entries.rewritten(salt: .random(in: 0...UInt64.max))
    // The numbers of forgotten records are not given again.
    newEnd.lastNumber = end.lastNumber
    guard let new = try? file.replaced(with: bytes) else { return }
    (self.file, end, sizes, slack) = (new, newEnd, newSizes, Self.leastSlack)
    living = sizes.values.reduce(0, +)
  }

  /// Returns the valid records; `nil` if the file is damaged.
  private func validEntries(of file: JournalFile) -> [String: JournalContents.Entry]? {
    // After a reset of the whole workflow there is nothing to read.
    if sizes.isEmpty { return [:] }
    guard let bytes = try? file.read(), let contents = try? JournalContents(bytes),
      !contents.isDamaged, contents.entries.count == sizes.count
    else { return nil }
    return contents.entries
  }
}

/// The end of a file, which further lines continue.
struct JournalEnd {
  var salt: UInt64 = 0
  /// The number of the last line.
  var lastLine = 0
  /// The number of the last change.
  ///
  /// It is higher than that of the last line once the file has been written anew without some
  /// of its lines: the records keep their numbers.
  var lastNumber = 0
  var forgets = 0
  var lastSubject: JournalFormat.Subject?
  var length = 0

  /// Whether further lines would soon have numbers out of range.
  var runsOutOfNumbers: Bool {
    max(lastLine, lastNumber, forgets) > JournalFormat.highestNumber / 2
  }

  /// Returns the next line.
  private mutating func line(
    _ data: Data = Data(), _ describe: (inout JournalFormat.Record) -> Void = { _ in }
  ) -> [UInt8] {
    lastLine += 1
    var record = JournalFormat.Record(n: lastLine, forgets: forgets, before: lastSubject)
    describe(&record)
    let line = JournalFormat.line(record, data: data, salt: salt)
    lastSubject = record.subject
    length += line.count
    return line
  }

  /// Returns the next line, for a change, which has the next number.
  mutating func line(of change: WorkflowJournalChange) -> [UInt8] {
    lastNumber += 1
    switch change {
    case .forget(let identifier):
      defer { forgets += 1 }
      return line { $0.forgot = identifier }
    case .record(let result):
      lastNumber = max(lastNumber, result.number)
      return line(result.data) { record in
        record.finished = result.identifier
        record.version = result.version
        record.time = result.date.timeIntervalSince1970
        if !result.prerequisites.isEmpty { record.after = result.prerequisites }
        if result.number != record.n { record.number = result.number }
      }
    }
  }

  /// Returns a line without a subject, which ends a write.
  mutating func mark() -> [UInt8] {
    lastNumber += 1
    return line()
  }
}

extension Dictionary<String, JournalContents.Entry> {
  /// Returns the lines of a new file with these records, where it ends, and the sizes of the
  /// lines.
  func rewritten(salt: UInt64) -> (bytes: [UInt8], end: JournalEnd, sizes: [String: Int]) {
    var bytes = JournalFormat.header(JournalFormat.Header(salt: salt))
    var end = JournalEnd(salt: salt, length: bytes.count)
    var sizes: [String: Int] = [:]
    for (identifier, entry) in sorted(by: { $0.value.n < $1.value.n }) {
      let line = end.line(
        of: .record(
          WorkflowJournalRecord(
            identifier: identifier, version: entry.version, number: entry.n,
            date: Date(timeIntervalSince1970: entry.time), prerequisites: entry.after,
            data: entry.data)))
      bytes += line
      sizes[identifier] = line.count
    }
    if !isEmpty { bytes += end.mark() }
    return (bytes, end, sizes)
  }
}
