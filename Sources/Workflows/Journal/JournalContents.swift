import Foundation

/// What a journal says: the records that count, and what is damaged.
///
/// A pure value, made of the bytes of a file. Whatever the bytes are, no result that was
/// not recorded, or that was forgotten by a line which lines behind it prove, counts.
struct JournalContents {
  /// A record that counts.
  struct Entry {
    var n: Int
    let version: Int
    let time: Double
    let after: [String: Int]
    let data: Data
  }

  /// Why bytes are no journal.
  enum Failure: Error, Equatable {
    case notAJournal
    case newerFormat(Int)
  }

  /// `nil` in an empty file, or in one that was cut within its first line.
  private(set) var header: JournalFormat.Header?
  private(set) var entries: [String: Entry] = [:]
  /// The tasks whose records are damaged, or cannot be trusted because of damage.
  private(set) var damaged: Set<String> = []
  private(set) var damagedLineCount = 0
  private(set) var isTorn = false
  /// Something is damaged without a loss: a header, a newline, what is no line.
  private(set) var hasScratch = false
  /// How many bytes the lines have that count, and all of them.
  private(set) var sizes = (living: 0, all: 0)

  // What the next line must continue.
  private(set) var lastNumber = 0
  private(set) var forgets = 0
  private(set) var lastSubject: JournalFormat.Subject?

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
    sizes.all = bytes.count
    sizes.living = entries.values.reduce(0) { $0 + $1.data.count + 200 }
  }

  // MARK: The first two lines

  /// Where the lines begin that follow; `nil` if the file is empty.
  private mutating func readHeader(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> Int? {
    guard !bytes.isEmpty else { return nil }
    // Both have the same length, whatever the salt is.
    let length = JournalFormat.line(JournalFormat.Header(salt: 0), salt: 0).count
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
      // A file that was being made, perhaps.
      guard bytes.count < length, Self.isBeginning(bytes) else { throw .notAJournal }
      isTorn = true
      return nil
    }
    header = first
    hasScratch = found.count < 2
    return min(2 * length, bytes.count)
  }

  /// Whether bytes are the beginning of a first line, whatever its numbers are.
  private static func isBeginning(_ bytes: UnsafeRawBufferPointer) -> Bool {
    zip(bytes, JournalFormat.line(JournalFormat.Header(salt: 0), salt: 0)).allSatisfy {
      $0 == $1 || (JournalFormat.digit($0) != nil && JournalFormat.digit($1) != nil)
    }
  }

  // MARK: The lines that follow

  private mutating func readLines(_ bytes: UnsafeRawBufferPointer, from start: Int) {
    let salt = header?.number ?? 0
    var next = start
    while next < bytes.count {
      if let (record, place) = Self.record(in: bytes, at: next, salt: salt),
        record.n > lastNumber
      {
        if bytes[place.end - 1] != JournalFormat.newline { hasScratch = true }
        apply(record, Data(bytes[place.data]))
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
      let record = JournalFormat.decode(JournalFormat.Record.self, from: bytes, place.record)
    else { return nil }
    return (record, place)
  }

  /// Where another line may begin, behind a place where none does.
  private static func nextLine(in bytes: UnsafeRawBufferPointer, after origin: Int) -> Int {
    guard let newline = bytes[origin...].firstIndex(of: JournalFormat.newline) else {
      return bytes.count
    }
    return newline + 1
  }

  /// The end is no line, and no line follows.
  ///
  /// A line that is known by none behind it was not synced, or changed afterwards. It is
  /// named if its record can still be read.
  private mutating func readTail(_ bytes: UnsafeRawBufferPointer, from origin: Int) {
    isTorn = true
    guard let (record, _) = Self.record(in: bytes, at: origin, salt: nil),
      record.n > lastNumber
    else { return }
    if let id = record.finished, entries[id] == nil { damaged.insert(id) }
    if let id = record.forgot { entries[id] = nil }
  }

  private mutating func apply(_ record: JournalFormat.Record, _ data: Data) {
    let lost = record.n - lastNumber - 1
    if lost > 0 { accountForLost(lost, before: record) }
    if let id = record.finished {
      entries[id] = Entry(
        n: record.n, version: record.version ?? 0, time: record.time ?? 0,
        after: record.after ?? [:], data: data)
      damaged.remove(id)
    } else if let id = record.forgot {
      entries[id] = nil
      damaged.remove(id)
    }
    forgets = record.forgets + (record.forgot == nil ? 0 : 1)
    lastNumber = record.n
    lastSubject = record.subject
  }

  /// Lines are missing before an intact one, which knows the last of them.
  private mutating func accountForLost(_ count: Int, before record: JournalFormat.Record) {
    damagedLineCount += count
    var unknownForgets = record.forgets - forgets
    if let id = record.before?.finished {
      entries[id] = nil
      damaged.insert(id)
    } else if let id = record.before?.forgot {
      entries[id] = nil
      damaged.remove(id)
      unknownForgets -= 1
    }
    guard unknownForgets > 0 else { return }
    // Any of the earlier results may have been forgotten.
    damaged.formUnion(entries.keys)
    entries = [:]
  }
}
