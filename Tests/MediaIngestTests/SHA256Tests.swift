import TestSupport
import Testing

@testable import MediaIngest

/// The digest, compared with the examples of its standard.
@Suite("SHA-256", .timeLimit(.minutes(5)), .oneAtATime)
struct SHA256Tests {
  private func digest(_ pieces: [[UInt8]]) -> String {
    var digest = SHA256()
    for piece in pieces { piece.withUnsafeBytes { digest.update($0) } }
    return digest.finalize()
  }

  @Test(
    "The digests are those of the standard",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
      (
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
          + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
        "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
      ),
    ])
  func standard(text: String, digits: String) { #expect(digest([Array(text.utf8)]) == digits) }

  @Test("A million letters have the digest of the standard")
  func million() {
    let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 100_000)
    #expect(
      digest(Array(repeating: piece, count: 10))
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test("It does not matter in which pieces the bytes come, nor where they end")
  func pieces() {
    let bytes = (0..<200).map { UInt8($0) }
    for count in [55, 56, 63, 64, 65, 119, 120, 128, 200] {
      let whole = digest([Array(bytes.prefix(count))])
      for cut in 0...count {
        let pieces = [bytes[..<cut], bytes[cut..<count]].map(Array.init)
        #expect(digest(pieces) == whole, "\(count) bytes, cut at \(cut)")
      }
    }
  }
}
