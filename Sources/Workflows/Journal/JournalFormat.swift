import Foundation

// The format of a journal: lines of JSON, which people can read.
//
//   {"sum":"…","size":[…,0],"record":{"format":1,"salt":"…"}}            twice
//   {"sum":"…","size":[…,…],"record":{"n":1,"finished":"pages",…},"data":{"result":…}}
//   {"sum":"…","size":[…,0],"record":{"n":2,"forgot":"pages",…}}
//   {"sum":"…","size":[…,0],"record":{"n":3,…}}                           end of a write
//
// - `sum` is the checksum of the rest of the line, started with the salt of the file. A
//   line of another file, or a result that looks like a line, is therefore not taken for
//   a line.
// - `size` is the length of the record and of the data. The end of a line can therefore
//   be found even if the separating newline is damaged.
// - `n` counts the lines, so that a missing line is noticed. `before` repeats the subject
//   of the previous line, so that the next line identifies a damaged one. Each write ends
//   with a line without a subject, so that every line has a next one.
// - `forgets` counts the earlier lines that have forgotten a task. If more of them are
//   missing than are known by name, the results recorded before them cannot be trusted.
// - `after` names the nearest recorded tasks that the task depends on, directly or through
//   tasks that are not recorded, and the lines in which they were recorded. The result is
//   valid only for those runs of theirs. The number is 0 for a task without a line: it has
//   failed, and a task that runs all the same stands in between.
// - `number` is the number by which `after` names a line, if that is not `n`: a record keeps
//   its number when the file is written anew with fewer lines.

enum JournalFormat {
  static let version = 1

  /// The content of the first two lines of a file.
  struct Header: Codable, Equatable {
    var format = JournalFormat.version
    /// A different number for each file, in hexadecimal digits.
    let salt: String

    init(salt: UInt64) { self.salt = JournalFormat.hex(salt) }

    var number: UInt64 { UInt64(salt, radix: 16) ?? 0 }
  }

  /// The subject of a line.
  struct Subject: Codable, Equatable {
    var finished: String?
    var forgot: String?
  }

  /// The content of a line, except for the result.
  struct Record: Codable, Equatable {
    var n: Int
    var forgets: Int
    var before: Subject?
    var finished: String?
    var forgot: String?
    var version: Int?
    /// When the task finished, in seconds since 1970.
    var time: Double?
    var after: [String: Int]?
    var number: Int?

    var subject: Subject { Subject(finished: finished, forgot: forgot) }

    /// Whether a journal can reach the numbers, and no sum of them overflows.
    var isInRange: Bool {
      let highest = JournalFormat.highestNumber
      return 1...highest ~= n && 0...highest ~= forgets && 0...highest ~= number ?? n
    }
  }

  /// The highest number of a line or record.
  static let highestNumber = Int.max / 2

  // MARK: Writing

  /// Returns a line with its newline.
  static func line(_ record: some Encodable, data: Data = Data(), salt: UInt64) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Numbers and strings can always be encoded.
    let head = (try? encoder.encode(record)) ?? Data("{}".utf8)
    var rest = Array(#""size":[\#(head.count),\#(data.count)],"record":"#.utf8)
    rest += head
    if !data.isEmpty { rest += dataLabel + data }
    rest.append(UInt8(ascii: "}"))
    let sum = rest.withUnsafeBytes { checksum(of: $0, salt: salt) }
    return start + Array(#"\#(hex(sum))","#.utf8) + rest + [newline]
  }

  /// Returns the first two lines of a file.
  static func header(_ header: Header) -> [UInt8] {
    let line = line(header, salt: 0)
    return line + line
  }

  /// The length of each of the first two lines, whatever the salt is.
  static let headerLineLength = line(Header(salt: 0), salt: 0).count

  // MARK: Reading

  /// The positions of the parts of a line.
  struct Place {
    let record: Range<Int>
    let data: Range<Int>
    /// After the newline.
    let end: Int
  }

  /// Returns the positions in the line that begins at an offset; `nil` if no intact line
  /// does.
  ///
  /// - Parameter salt: The salt of the file; `nil` skips the checksum.
  static func place(
    in bytes: UnsafeRawBufferPointer, at origin: Int, salt: UInt64?
  ) -> Place? {
    var next = origin
    func skip(_ text: [UInt8]) -> Bool {
      guard bytes.count - next >= text.count,
        text.indices.allSatisfy({ bytes[next + $0] == text[$0] })
      else { return false }
      next += text.count
      return true
    }
    func number(base: UInt64, digits: ClosedRange<Int>) -> UInt64? {
      var (value, count): (UInt64, Int) = (0, 0)
      while next < bytes.count, count < digits.upperBound, let digit = digit(bytes[next]),
        digit < base
      {
        (value, count, next) = (value * base + digit, count + 1, next + 1)
      }
      return digits.contains(count) ? value : nil
    }
    guard skip(start), let sum = number(base: 16, digits: 16...16), skip(afterSum) else {
      return nil
    }
    let summed = next
    guard skip(sizeLabel), let head = number(base: 10, digits: 1...12), skip([comma]),
      let data = number(base: 10, digits: 1...12), skip(recordLabel)
    else { return nil }
    let record = next..<next + Int(head)
    next = record.upperBound
    if data > 0 {
      guard next <= bytes.count, skip(dataLabel) else { return nil }
    }
    let content = next..<next + Int(data)
    next = content.upperBound
    guard next <= bytes.count, skip([UInt8(ascii: "}")]) else { return nil }
    if let salt {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[summed..<next])
      guard checksum(of: rest, salt: salt) == sum else { return nil }
    }
    // A damaged newline damages nothing else; a missing one is the end of the file.
    return Place(record: record, data: content, end: min(next + 1, bytes.count))
  }

  /// Decodes a part of a file.
  static func decode<Value: Decodable>(
    _ type: Value.Type, from bytes: UnsafeRawBufferPointer, _ range: Range<Int>
  ) -> Value? {
    guard range.upperBound <= bytes.count else { return nil }
    return try? JSONDecoder().decode(type, from: Data(bytes[range]))
  }

  static let newline = UInt8(ascii: "\n")
  static let start = Array(#"{"sum":""#.utf8)
  private static let afterSum = Array("\",".utf8)
  private static let sizeLabel = Array(#""size":["#.utf8)
  private static let recordLabel = Array(#"],"record":"#.utf8)
  private static let dataLabel = Array(#","data":"#.utf8)
  private static let comma = UInt8(ascii: ",")

  static func digit(_ byte: UInt8) -> UInt64? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
    default: nil
    }
  }

  static func hex(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Computes an FNV-1a checksum.
  ///
  /// Each step maps sums one to one, so a single changed byte always changes the sum.
  static func checksum(of bytes: UnsafeRawBufferPointer, salt: UInt64) -> UInt64 {
    var sum: UInt64 = 0xCBF2_9CE4_8422_2325 ^ salt
    for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return sum
  }
}
