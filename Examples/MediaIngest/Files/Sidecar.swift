import ExampleSupport
import Foundation

/// The recorded facts about a file.
struct Sidecar: Codable, Equatable, Sendable {
  /// The path of the file, relative to the ingested folder.
  let file: String
  let size: Int64
  /// In nanoseconds since 1970.
  let modified: Int64
  let type: MediaType
  /// In pixels; `nil` if the file is no picture.
  let width: Int?
  let height: Int?
  /// In seconds; `nil` if the file cannot be played.
  let duration: Double?
  /// In hexadecimal digits.
  let sha256: String

  init(_ file: SourceFile, _ type: MediaType, _ details: MediaDetails = .none, sha256: String) {
    self.file = file.name
    size = file.status.size
    modified = file.status.modified
    self.type = type
    width = details.width
    height = details.height
    duration = details.duration
    self.sha256 = sha256
  }

  /// Reads the sidecar of an earlier run; returns `nil` if there is none, or if it
  /// differs in any byte from the JSON that this program writes.
  init?(at path: String) {
    guard let bytes = try? TextFile.read(path),
      let sidecar = try? JSONDecoder().decode(Sidecar.self, from: Data(bytes)),
      sidecar.sha256.utf8.count == 64, sidecar.sha256.utf8.allSatisfy(Self.isDigit),
      sidecar.text.utf8.elementsEqual(bytes)
    else { return nil }
    self = sidecar
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
    default: false
    }
  }

  /// Whether the sidecar describes the current state of a file.
  func describes(_ file: SourceFile) -> Bool {
    (self.file, size, modified) == (file.name, file.status.size, file.status.modified)
  }

  /// The JSON, for people and machines.
  ///
  /// A sidecar has exactly one JSON text, so an incomplete file is noticed. The text is
  /// written by hand because an encoder takes longer than reading a small file.
  var text: String {
    var text = "{\n"
    if let duration { text += "  \"duration\" : \(duration),\n" }
    text += "  \"file\" : \(file.quoted),\n"
    if let height { text += "  \"height\" : \(height),\n" }
    text += "  \"modified\" : \(modified),\n"
    text += "  \"sha256\" : \"\(sha256)\",\n"
    text += "  \"size\" : \(size),\n"
    text += "  \"type\" : \(type.name.quoted)"
    if let width { text += ",\n  \"width\" : \(width)" }
    return text + "\n}"
  }
}

extension String {
  /// The text as a JSON string.
  fileprivate var quoted: String {
    guard utf8.contains(where: { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C }) else {
      return "\"\(self)\""
    }
    var text = "\""
    for scalar in unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\u{0}"..<" ": text += String(format: "\\u%04x", scalar.value)
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}
