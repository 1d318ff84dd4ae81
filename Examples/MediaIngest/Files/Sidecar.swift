import Foundation

/// What is written down of a file.
struct Sidecar: Codable, Equatable, Sendable {
  /// Its path in the folder that is ingested.
  let file: String
  let size: Int64
  /// In nanoseconds since 1970.
  let modified: Int64
  let type: MediaType
  /// In hexadecimal digits.
  let sha256: String

  init(_ file: SourceFile, _ type: MediaType, sha256: String) {
    self.file = file.name
    size = file.status.size
    modified = file.status.modified
    self.type = type
    self.sha256 = sha256
  }

  /// What an earlier run has written; `nil` if there is nothing that makes
  /// sense: then the file is done again.
  init?(at path: String) {
    guard let data = FileManager.default.contents(atPath: path),
      let sidecar = try? JSONDecoder().decode(Sidecar.self, from: data)
    else { return nil }
    self = sidecar
  }

  /// Whether it tells of a file as it is now.
  func describes(_ file: SourceFile) -> Bool {
    (self.file, size, modified) == (file.name, file.status.size, file.status.modified)
  }

  /// Writes it for people as well as for machines.
  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return encoder
  }
}
