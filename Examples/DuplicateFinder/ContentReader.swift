import Foundation
import Properations

/// Reads files piece by piece, until the scope is cancelled.
struct ContentReader: Sendable {
  private static let pieceSize = 256 << 10

  private let scope: CancellationScope
  private let findings: Findings

  init(until scope: CancellationScope, findings: Findings) {
    self.scope = scope
    self.findings = findings
  }

  /// Returns a number that is equal for equal contents and rarely equal for different
  /// ones.
  ///
  /// It uses Swift's own hash function, which is fast. Its seed differs in each process,
  /// so files that collide cannot be prepared.
  func digest(of file: File, _ length: Int64) throws -> Int {
    var hasher = Hasher()
    let content = try OpenFile(file)
    try forEachPiece(of: min(length, file.status.size)) { piece, _ in
      try content.read(into: piece)
      hasher.combine(bytes: UnsafeRawBufferPointer(piece))
      return true
    }
    try content.assertUnchanged()
    return hasher.finalize()
  }

  /// Reads the beginning of a file.
  func beginning(of file: File, _ length: Int64) throws -> Content {
    if scope.isCancelled { throw ProperationsError.cancelled }
    let content = try OpenFile(file)
    let length = Int(min(length, file.status.size))
    let bytes = try [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
      let buffer = UnsafeMutableBufferPointer(rebasing: bytes[..<length])
      try content.read(into: UnsafeMutableRawBufferPointer(buffer))
      count = length
    }
    try content.assertUnchanged()
    findings.add(bytesRead: length)
    return Content(of: file.status.size, bytes)
  }

  /// Whether two files have the same content, byte by byte.
  func isEqual(_ a: File, _ b: File) throws -> Bool {
    try withEqualContents(a, b) { _, _ in } != nil
  }

  /// Opens two files, compares them byte by byte and lends them to the body; `nil` if
  /// they differ.
  func withEqualContents<Result>(
    _ a: File, _ b: File, _ body: (borrowing OpenFile, borrowing OpenFile) throws -> Result
  ) throws -> Result? {
    let contentOfA = try OpenFile(a)
    let contentOfB = try OpenFile(b)
    var isEqual = a.status.size == b.status.size
    guard isEqual else { return nil }
    try forEachPiece(of: a.status.size) { pieceOfA, pieceOfB in
      try contentOfA.read(into: pieceOfA)
      try contentOfB.read(into: pieceOfB)
      isEqual = memcmp(pieceOfA.baseAddress!, pieceOfB.baseAddress!, pieceOfA.count) == 0
      return isEqual
    }
    try contentOfA.assertUnchanged()
    try contentOfB.assertUnchanged()
    return isEqual ? try body(contentOfA, contentOfB) : nil
  }

  /// Calls the body for each piece, with two buffers as long as the piece, until the body
  /// returns `false`.
  private func forEachPiece(
    of length: Int64,
    _ body: (UnsafeMutableRawBufferPointer, UnsafeMutableRawBufferPointer) throws -> Bool
  ) throws {
    let pieceSize = Int(min(length, Int64(Self.pieceSize)))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * pieceSize, alignment: 16)
    defer { buffer.deallocate() }
    var rest = length
    while rest > 0 {
      // Cancelling the scope cancels the future at once. Its closure must ask the scope.
      if scope.isCancelled { throw ProperationsError.cancelled }
      let count = Int(min(rest, Int64(pieceSize)))
      let pieces = (
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]),
        UnsafeMutableRawBufferPointer(rebasing: buffer[pieceSize...].prefix(count))
      )
      guard try body(pieces.0, pieces.1) else { return }
      findings.add(bytesRead: count)
      rest -= Int64(count)
    }
  }
}
