import Foundation

/// The beginning of a file, or all of it: equal if all bytes are.
struct Beginning: Hashable, Sendable {
  private let bytes: [UInt8]
  /// Computed where the file is read, side by side with others.
  private let digest: Int

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    var hasher = Hasher()
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    digest = hasher.finalize()
  }

  func hash(into hasher: inout Hasher) { hasher.combine(digest) }

  static func == (a: Beginning, b: Beginning) -> Bool {
    a.digest == b.digest && a.bytes.count == b.bytes.count
      && (a.bytes.isEmpty || memcmp(a.bytes, b.bytes, a.bytes.count) == 0)
  }
}
