import ExampleSupport
import Foundation

/// The state of a target or file at one moment; a change of either changes the stamp.
struct Stamp: Sendable, Hashable, Codable {
  let text: String

  private init(_ text: String) { self.text = text }

  /// The stamp of a file: its date and its size; `nil` if there is no file.
  ///
  /// A folder changes whenever something in it is built, so only its existence counts.
  init?(ofFile path: String) {
    guard let status = try? FileStatus(following: path) else { return nil }
    self.init(status)
  }

  /// The stamp of a file that a command may have read, taken after the command has ended.
  ///
  /// If the file has changed since the command began, the stamp equals no other.
  ///
  /// - Parameter start: The time when the command began, in nanoseconds since 1970.
  init?(ofFile path: String, unchangedSince start: Int64) {
    guard let status = try? FileStatus(following: path) else { return nil }
    self = status.kind != .folder && status.modified > start ? .ofBuild() : Stamp(status)
  }

  private init(_ status: FileStatus) {
    self.init(status.kind == .folder ? "folder" : "file \(status.modified) \(status.size)")
  }

  /// A new stamp for a build that makes no file; it equals no other.
  static func ofBuild() -> Stamp { Stamp("build \(UUID().uuidString)") }

  /// The stamp of a target without commands; it changes if a part changes.
  static func ofParts(_ parts: [Stamp]) -> Stamp {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in parts.map(\.text).joined(separator: "\n").utf8 {
      hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    return Stamp("parts \(parts.count) \(hash)")
  }

  init(from decoder: any Decoder) throws {
    text = try decoder.singleValueContainer().decode(String.self)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

/// The record of the last successful build of a target.
struct Record: Sendable, Equatable, Codable {
  let script: String
  let prerequisites: [String]
  /// The stamps of the prerequisites before the build, in their order.
  let stamps: [Stamp]
  /// The stamp of the target after the build.
  let stamp: Stamp
  /// Whether the target was a file.
  let isFile: Bool
  /// The stamps of the files that the dependency files named, without the prerequisites;
  /// `nil` if the target has no dependency files.
  var found: [String: Stamp]?
}
