import Foundation

/// An argument as the system passed it: bytes that need not be UTF-8.
package struct Argument: Hashable, Sendable {
  package let bytes: [UInt8]

  package init(bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

  package init(_ text: String) { self.init(bytes: text.utf8) }

  /// The arguments of the process, without the program's own name.
  ///
  /// `CommandLine.arguments` cannot be used: it puts replacement characters in the place
  /// of bytes that are not UTF-8.
  package static var all: [Argument] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { i in
      CommandLine.unsafeArgv[i].map {
        Argument(bytes: UnsafeRawBufferPointer(start: $0, count: strlen($0)))
      }
    }
  }

  /// The argument as text; `nil` if it is not UTF-8.
  package var text: String? { String(validating: bytes, as: UTF8.self) }

  /// The argument for people.
  ///
  /// It cannot start a new line or recolour a terminal. Bytes that are not UTF-8 appear
  /// as `\xNN`.
  package var visible: String {
    if let text { return text.visible }
    return bytes.reduce(into: "") { text, byte in
      if (0x20..<0x7F).contains(byte) {
        text.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        text += String(format: "\\x%02X", byte)
      }
    }
  }
}

extension Argument: ExpressibleByStringLiteral {
  package init(stringLiteral text: String) { self.init(text) }
}

extension String {
  /// The text for people.
  ///
  /// Characters that would start a new line, recolour a terminal or change the direction
  /// of text are escaped, as in `\u{a}`.
  package var visible: String {
    guard unicodeScalars.contains(where: \.isInvisible) else { return self }
    return unicodeScalars.reduce(into: "") { text, scalar in
      if scalar.isInvisible {
        text += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
  }
}

extension Unicode.Scalar {
  /// Whether the character changes how other characters are shown: a control character, a
  /// separator of lines or paragraphs, or a mark of direction.
  package var isInvisible: Bool {
    switch value {
    case 0x20..<0x7F: false
    case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
    default:
      switch properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: true
      default: false
      }
    }
  }
}
