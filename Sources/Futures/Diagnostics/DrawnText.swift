// Text in drawings, with the characters escaped that have a meaning there.

enum DrawnText {
  /// Whether a character may be in a picture.
  ///
  /// Characters that XML forbids and control characters may not.
  static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F...0x9F, 0xFFFE, 0xFFFF: false
    default: true
    }
  }

  /// Returns text with characters replaced; those without a replacement stay.
  static func replacing(
    in text: String, _ replacement: (Unicode.Scalar) -> String?
  ) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if let replacement = replacement(scalar) {
        result += replacement
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

/// Text in the language of Graphviz.
package enum DotText {
  /// Returns a quoted string, with the characters escaped that would end it or the file.
  package static func quoted(_ text: String) -> String {
    let escaped = DrawnText.replacing(in: text) { scalar in
      switch scalar {
      case "\"": "\\\""
      case "\\": "\\\\"
      case "\n", "\r": "\\n"
      // Graphviz reads entities in labels.
      case "&": "&amp;"
      case _ where !DrawnText.isAllowed(scalar): "\u{FFFD}"
      default: nil
      }
    }
    return "\"\(escaped)\""
  }
}

/// Text in the language of Mermaid.
package enum MermaidText {
  /// Returns text with every character but letters, digits and plain punctuation as a
  /// numeric entity.
  package static func escaped(_ text: String) -> String {
    // Empty labels are not valid.
    if text.isEmpty { return " " }
    return DrawnText.replacing(in: text) { scalar in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", " ", "-", "_", ".", ",": nil
      case "\n", "\r": "<br/>"
      case _ where !DrawnText.isAllowed(scalar): "#65533;"
      case "\u{A0}"...: nil
      default: "#\(scalar.value);"
      }
    }
  }
}
