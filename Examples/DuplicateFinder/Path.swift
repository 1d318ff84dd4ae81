import ExampleSupport
import Foundation

/// A path as the file system has it: bytes that need not be UTF-8.
struct Path: Hashable, Comparable, Sendable {
  let bytes: [UInt8]

  init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  init(_ text: String) { self.init(bytes: text.utf8) }

  init(cString: UnsafePointer<CChar>) {
    self.init(bytes: UnsafeRawBufferPointer(start: cString, count: strlen(cString)))
  }

  /// Compares the bytes.
  static func < (a: Path, b: Path) -> Bool {
    let count = min(a.bytes.count, b.bytes.count)
    // `memcmp` must not get null pointers, not even for zero bytes.
    let order = count == 0 ? 0 : memcmp(a.bytes, b.bytes, count)
    return order == 0 ? a.bytes.count < b.bytes.count : order < 0
  }

  private static let slash = UInt8(ascii: "/")

  func appending(_ name: [UInt8]) -> Path { name.withUnsafeBytes { appending($0) } }

  /// - Parameter name: The bytes of the name.
  func appending(_ name: UnsafeRawBufferPointer) -> Path {
    var joined: [UInt8] = []
    joined.reserveCapacity(bytes.count + 1 + name.count)
    joined += bytes
    if bytes.last != Self.slash { joined.append(Self.slash) }
    joined.append(contentsOf: name)
    return Path(bytes: joined)
  }

  /// The folder that contains the last name of the path, and that name.
  var parentAndName: (parent: Path, name: [UInt8]) {
    let name = name
    let parent = Path(bytes: bytes.dropLast(name.count))
    return (parent.bytes.isEmpty ? Path(".") : parent, Array(name))
  }

  /// The last name of the path; empty if the path ends in a slash.
  var name: ArraySlice<UInt8> {
    bytes[(bytes.lastIndex(of: Self.slash).map { $0 + 1 } ?? bytes.startIndex)...]
  }

  /// Lends the path to a system call.
  func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count + 1) { buffer in
      let end = buffer.initialize(fromContentsOf: bytes)
      buffer.initializeElement(at: end, to: 0)
      return buffer.withMemoryRebound(to: CChar.self) { body($0.baseAddress!) }
    }
  }

  /// The path for machines: unchanged, or escaped if it is not UTF-8.
  var text: String {
    String(validating: bytes, as: UTF8.self)
      ?? escaped { $0 >= 0x80 || $0 == UInt8(ascii: "\\") }
  }

  /// Whether `text` is the path itself, and no other path has this text.
  ///
  /// A text with a backslash may also be the escaped text of another path.
  var isItsText: Bool {
    !bytes.contains(UInt8(ascii: "\\")) && String(validating: bytes, as: UTF8.self) != nil
  }
}

extension Path: CustomStringConvertible {
  /// The path for people.
  ///
  /// No name can start a new line, recolour a terminal or change the direction of text.
  ///
  /// Each `\xNN` is one byte, and a backslash appears as two. So different paths have
  /// different texts, and the text determines the bytes.
  var description: String {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return escaped { $0 >= 0x80 || Self.mayNeedEscape($0) }
    }
    guard bytes.contains(where: Self.mayNeedEscape) else { return text }
    return text.unicodeScalars.reduce(into: "") { text, scalar in
      if scalar == "\\" || scalar.isInvisible {
        text += UTF8.encode(scalar)!.map(Self.escaped).joined()
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
  }

  private func escaped(where mustEscape: (UInt8) -> Bool) -> String {
    bytes.map { mustEscape($0) ? Self.escaped($0) : String(Unicode.Scalar($0)) }.joined()
  }

  /// Whether a byte is an ASCII character that needs an escape, or may be the first byte
  /// of another one: characters beyond ASCII that need an escape begin with C2 (control
  /// characters), D8 (an Arabic mark) or E2.
  private static func mayNeedEscape(_ byte: UInt8) -> Bool {
    switch byte {
    case 0..<0x20, 0x7F, UInt8(ascii: "\\"), 0xC2, 0xD8, 0xE2: true
    default: false
    }
  }

  private static func escaped(_ byte: UInt8) -> String {
    byte == UInt8(ascii: "\\") ? "\\\\" : String(format: "\\x%02X", byte)
  }
}
