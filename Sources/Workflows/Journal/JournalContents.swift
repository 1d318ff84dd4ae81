import Foundation

/// The contents of a journal: its valid records, and what is damaged.
///
/// A pure value, made from the bytes of a file. Whatever the bytes are, two kinds of
/// result are never valid: a result that was not recorded, and a forgotten one whose
/// `forgot` line is proved by later lines.
struct JournalContents {
  /// A valid record.
  struct Entry {
    /// The number by which other records name it.
    var n: Int
    let version: Int
    let time: Double
    var after: [String: Int]
    let data: Data
    /// The size of its line in bytes; zero if a storage keeps it.
    var size = 0
  }

  /// Why the bytes cannot be read as a journal.
  enum Failure: Error, Equatable {
    case notAJournal
    case newerFormat(Int)
  }

  /// The header; `nil` if the file is empty or was cut within its first line.
  private(set) var header: JournalFormat.Header?
  private(set) var entries: [String: Entry] = [:]
  /// The tasks whose records are damaged, or cannot be trusted because of damage.
  private(set) var damaged: Set<String> = []
  private(set) var damagedLineCount = 0
  private(set) var isTorn = false
  /// Whether something is damaged without a loss: a header, a newline, or bytes that are
  /// no line.
  private(set) var hasScratch = false
  /// The end of the bytes, which the next line must continue.
  private(set) var end = JournalEnd()

  init(_ bytes: [UInt8]) throws(Failure) {
    let failure: Failure? = bytes.withUnsafeBytes { bytes in
      do throws(Failure) {
        guard let start = try readHeader(bytes) else { return nil }
        readLines(bytes, from: start)
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
    end.length = bytes.count
  }

  /// The contents of a storage, which finds damage itself.
  init(_ records: [WorkflowJournalRecord]) {
    for record in records {
      if let other = entries[record.identifier], other.n >= record.number { continue }
      entries[record.identifier] = Entry(
        n: record.number, version: record.version, time: record.date.timeIntervalSince1970,
        after: record.prerequisites, data: record.data)
      // A storage may return any number; the next ones must not overflow.
      end.lastNumber = min(max(end.lastNumber, record.number), .max / 2)
    }
  }

  /// The size of the lines of valid records in bytes.
  var living: Int { entries.values.reduce(0) { $0 + $1.size } }

  /// Whether lines are missing, or anything else is not as it was written.
  var isDamaged: Bool {
    header == nil || isTorn || hasScratch || damagedLineCount > 0 || !damaged.isEmpty
  }

  // MARK: The first two lines

  /// Reads the headers and returns where the following lines begin; `nil` without a
  /// header.
  private mutating func readHeader(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> Int? {
    guard !bytes.isEmpty else { return nil }
    let length = JournalFormat.headerLineLength
    var found: [JournalFormat.Header] = []
    for origin in [0, length] {
      guard let place = JournalFormat.place(in: bytes, at: origin, salt: 0),
        let header = JournalFormat.decode(JournalFormat.Header.self, from: bytes, place.record)
      else { continue }
      guard header.format == JournalFormat.version else {
        throw .newerFormat(header.format)
      }
      found.append(header)
    }
    guard let first = found.first else {
      // The file may have been cut while it was being made.
      guard bytes.count < length, Self.isBeginning(bytes) else { throw .notAJournal }
      isTorn = true
      return nil
    }
    header = first
    end.salt = first.number
    let next = min(2 * length, bytes.count)
    // The next line would continue a second header that has lost its newline.
    hasScratch = found.count < 2 || bytes[next - 1] != JournalFormat.newline
    return next
  }

  /// Whether a file that begins with these bytes may be a part of a journal.
  ///
  /// After a power cut the bytes may be zeros that were to become a journal.
  static func mayBegin(with bytes: some Sequence<UInt8>) -> Bool {
    isBeginning(bytes) || bytes.allSatisfy { $0 == 0 }
  }

  /// Whether the bytes are the beginning of a first line, whatever its numbers are.
  private static func isBeginning(_ bytes: some Sequence<UInt8>) -> Bool {
    zip(bytes, JournalFormat.line(JournalFormat.Header(salt: 0), salt: 0)).allSatisfy {
      $0 == $1 || (JournalFormat.digit($0) != nil && JournalFormat.digit($1) != nil)
    }
  }

  // MARK: The lines that follow

  private mutating func readLines(_ bytes: UnsafeRawBufferPointer, from start: Int) {
    var next = start
    while next < bytes.count {
      if let (record, place) = Self.record(in: bytes, at: next, salt: end.salt),
        record.n > end.lastLine
      {
        if bytes[place.end - 1] != JournalFormat.newline { hasScratch = true }
        apply(record, Data(bytes[place.data]), size: place.end - next)
        next = place.end
      } else {
        let following = Self.nextLine(in: bytes, after: next)
        if following < bytes.count { hasScratch = true } else { readTail(bytes, from: next) }
        next = following
      }
    }
  }

  private static func record(
    in bytes: UnsafeRawBufferPointer, at origin: Int, salt: UInt64?
  ) -> (JournalFormat.Record, JournalFormat.Place)? {
    guard let place = JournalFormat.place(in: bytes, at: origin, salt: salt),
      let record = JournalFormat.decode(JournalFormat.Record.self, from: bytes, place.record),
      record.isInRange
    else { return nil }
    return (record, place)
  }

  /// Returns where another line may begin, after a place where none does.
  private static func nextLine(in bytes: UnsafeRawBufferPointer, after origin: Int) -> Int {
    guard let newline = bytes[origin...].firstIndex(of: JournalFormat.newline) else {
      return bytes.count
    }
    return newline + 1
  }

  /// Handles an end of the file that is no line.
  ///
  /// No later line confirms this one: it was not synced, or it changed afterwards. If its
  /// record can still be read, its task counts as damaged.
  private mutating func readTail(_ bytes: UnsafeRawBufferPointer, from origin: Int) {
    isTorn = true
    guard let (record, _) = Self.record(in: bytes, at: origin, salt: nil),
      record.n > end.lastLine
    else { return }
    if let id = record.finished, entries[id] == nil { damaged.insert(id) }
    if let id = record.forgot { entries[id] = nil }
  }

  private mutating func apply(_ record: JournalFormat.Record, _ data: Data, size: Int) {
    let lost = record.n - end.lastLine - 1
    if lost > 0 { accountForLost(lost, before: record) }
    if let id = record.finished {
      entries[id] = Entry(
        n: record.number ?? record.n, version: record.version ?? 0, time: record.time ?? 0,
        after: record.after ?? [:], data: data, size: size)
      damaged.remove(id)
    } else if let id = record.forgot {
      entries[id] = nil
      damaged.remove(id)
    }
    end.forgets = record.forgets + (record.forgot == nil ? 0 : 1)
    end.lastLine = record.n
    end.lastNumber = max(end.lastNumber, record.number ?? record.n)
    end.lastSubject = record.subject
  }

  /// Accounts for missing lines before an intact one, which names the subject of the last
  /// missing line.
  private mutating func accountForLost(_ count: Int, before record: JournalFormat.Record) {
    damagedLineCount += count
    var unknownForgets = record.forgets - end.forgets
    if let id = record.before?.finished {
      entries[id] = nil
      damaged.insert(id)
    } else if let id = record.before?.forgot {
      entries[id] = nil
      damaged.remove(id)
      unknownForgets -= 1
    }
    guard unknownForgets > 0 else { return }
    // A missing line may have forgotten any of the earlier results.
    damaged.formUnion(entries.keys)
    entries = [:]
  }
}
