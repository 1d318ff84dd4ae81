import Foundation

/// A path as the file system has it: bytes, which need not be UTF-8.
struct Path: Hashable, Comparable, Sendable {
  let bytes: [UInt8]

  init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  init(_ text: String) { self.init(bytes: text.utf8) }

  /// What the program was called with.
  ///
  /// `CommandLine.arguments` would have put replacement characters in the place
  /// of what is not UTF-8.
  static var arguments: [Path] {
    (1..<max(1, Int(CommandLine.argc)))
      .compactMap { CommandLine.unsafeArgv[$0].map { Path(cString: $0) } }
  }

  init(cString: UnsafePointer<CChar>) {
    self.init(bytes: UnsafeRawBufferPointer(start: cString, count: strlen(cString)))
  }

  static func < (a: Path, b: Path) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }

  private static let slash = UInt8(ascii: "/")

  func appending(_ name: [UInt8]) -> Path {
    Path(bytes: bytes.last == Self.slash ? bytes + name : bytes + [Self.slash] + name)
  }

  /// The folder that the last name of the path is in, and that name.
  var parentAndName: (parent: Path, name: [UInt8]) {
    let name = bytes.reversed().prefix { $0 != Self.slash }.reversed()
    let parent = Path(bytes: bytes.dropLast(name.count))
    return (parent.bytes.isEmpty ? Path(".") : parent, Array(name))
  }

  /// Lends the path to a system call.
  func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    body((bytes + [0]).map(CChar.init(bitPattern:)))
  }

  /// The path for machines: as it is, or `\xNN` for what is not UTF-8.
  var text: String { String(validating: bytes, as: UTF8.self) ?? escaped { $0 >= 0x80 } }
}

extension Path: CustomStringConvertible {
  /// The path for people: no name can start a new line or recolour a terminal.
  var description: String {
    let isControl: (UInt8) -> Bool = { $0 < 0x20 || $0 == 0x7F }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return escaped { $0 >= 0x80 || isControl($0) }
    }
    // 0xC2 is the first byte of the control characters beyond ASCII.
    guard bytes.contains(where: { isControl($0) || $0 == 0xC2 }) else { return text }
    return text.unicodeScalars.reduce(into: "") { text, scalar in
      if scalar.properties.generalCategory == .control {
        text += String(format: "\\x%02X", scalar.value)
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
  }

  private func escaped(where mustEscape: (UInt8) -> Bool) -> String {
    bytes.reduce(into: "") { text, byte in
      if mustEscape(byte) {
        text += String(format: "\\x%02X", byte)
      } else {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
  }
}
