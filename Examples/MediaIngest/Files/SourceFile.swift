import ExampleSupport

/// A file as the scan has found it.
struct SourceFile: Sendable {
  /// Where it is.
  let path: String
  /// Its path in the folder that is ingested.
  let name: String
  let status: FileStatus
}

extension String {
  /// The path of something in the folder that this is the path of.
  func appending(name: String) -> String {
    if isEmpty { return name }
    return hasSuffix("/") ? self + name : "\(self)/\(name)"
  }

  /// A name for people: it cannot start a new line or recolour a terminal.
  var printable: String {
    guard unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      return self
    }
    return unicodeScalars.reduce(into: "") { text, scalar in
      if scalar.properties.generalCategory == .control {
        text += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
  }
}
