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
}

/// Text in the language of Graphviz.
package enum DotText {
  /// Returns a quoted string, with the characters escaped that would end it or the file.
  package static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n", "\r": result += "\\n"
      // Graphviz reads entities in labels.
      case "&": result += "&amp;"
      case _ where !DrawnText.isAllowed(scalar): result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

/// Text in the language of Mermaid.
package enum MermaidText {
  /// Returns text with every character but letters, digits and plain punctuation as a
  /// numeric entity.
  package static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", " ", "-", "_", ".", ",":
        result.unicodeScalars.append(scalar)
      case "\n", "\r": result += "<br/>"
      case _ where !DrawnText.isAllowed(scalar): result += "#65533;"
      case "\u{A0}"...: result.unicodeScalars.append(scalar)
      default: result += "#\(scalar.value);"
      }
    }
    // Empty labels are not valid.
    return result.isEmpty ? " " : result
  }
}
