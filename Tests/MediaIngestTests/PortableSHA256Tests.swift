import FuturesTestSupport
import TestSupport
import Testing

@testable import MediaIngest

/// The digest that the program computes itself where OpenSSL is not installed.
@Suite("SHA-256 without OpenSSL", .timeLimit(.minutes(5)), .oneAtATime)
struct PortableSHA256Tests {
  private func digest(_ pieces: [[UInt8]], isPortable: Bool) -> String {
    var digest = SHA256(isPortable: isPortable)
    for piece in pieces { piece.withUnsafeBytes { digest.update($0) } }
    return digest.finalize()
  }

  @Test func `the digest of three letters is that of the standard`() {
    #expect(
      digest([Array("abc".utf8)], isPortable: true)
        == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test func `with and without OpenSSL the digests of the same pieces are equal`() {
    var numbers = SeededGenerator(seed: 11)
    for _ in 0..<500 {
      let pieces = (0..<Int.random(in: 0...4, using: &numbers)).map { _ in
        (0..<Int.random(in: 0...200, using: &numbers)).map { _ in
          UInt8.random(in: 0...255, using: &numbers)
        }
      }
      let other = digest([Array(pieces.joined())], isPortable: false)
      #expect(digest(pieces, isPortable: true) == other)
    }
  }
}
