import Foundation

/// The content of a file as far as it was read: the bytes, or only their digest.
struct Content: Hashable, Sendable {
  private let size: Int64
  /// The digest is computed where the file is read, in parallel with those of other
  /// files.
  private let digest: Int
  private let bytes: [UInt8]?

  /// Makes a content that equals another one if all bytes are equal.
  init(of size: Int64, _ bytes: [UInt8]) {
    self.size = size
    self.bytes = bytes
    var hasher = Hasher()
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    digest = hasher.finalize()
  }

  /// Makes a content that equals another one if the digests are equal; the bytes may
  /// differ.
  init(of size: Int64, digest: Int) {
    self.size = size
    self.digest = digest
    bytes = nil
  }

  func hash(into hasher: inout Hasher) { hasher.combine(digest) }

  static func == (a: Content, b: Content) -> Bool {
    guard a.digest == b.digest, a.size == b.size else { return false }
    guard let bytes = a.bytes, let others = b.bytes else { return true }
    return bytes.count == others.count
      && (bytes.isEmpty || memcmp(bytes, others, bytes.count) == 0)
  }
}
