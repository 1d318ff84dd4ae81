import ExampleSupport
import Foundation

/// What a target or file was at some moment; a change of it is a change of the
/// stamp.
struct Stamp: Sendable, Hashable, Codable {
  let text: String

  private init(_ text: String) { self.text = text }

  /// Of a file: its date and its size; `nil` if there is none.
  ///
  /// A folder changes whenever something in it is built, so of a folder only
  /// counts that it is there.
  init?(ofFile path: String) {
    guard let status = try? FileStatus(following: path) else { return nil }
    self.init(status)
  }

  /// Of a file that a command may have read, taken when the command has ended; one
  /// that equals no other if the file has changed since the command began.
  ///
  /// - Parameter start: When the command began, in nanoseconds since 1970.
  init?(ofFile path: String, unchangedSince start: Int64) {
    guard let status = try? FileStatus(following: path) else { return nil }
    self = status.kind != .folder && status.modified > start ? .ofBuild() : Stamp(status)
  }

  private init(_ status: FileStatus) {
    self.init(status.kind == .folder ? "folder" : "file \(status.modified) \(status.size)")
  }

  /// Of a build that makes no file: another for each.
  static func ofBuild() -> Stamp { Stamp("build \(UUID().uuidString)") }

  /// Of something that is nothing by itself: it changes if a part does.
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

/// What is known of the last build of a target that ended well.
struct Record: Sendable, Equatable, Codable {
  let script: String
  let prerequisites: [String]
  /// What the prerequisites were before the build, in their order.
  let stamps: [Stamp]
  /// What the target was after it.
  let stamp: Stamp
  /// Whether it was a file.
  let isFile: Bool
  /// What its dependency files named beside the prerequisites, and what that was;
  /// `nil` if it has none.
  var found: [String: Stamp]?
}
