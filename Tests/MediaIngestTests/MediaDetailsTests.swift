import Foundation
import TestSupport
import Testing

@testable import MediaIngest

/// Details from headers.
@Suite("Media details", .timeLimit(.minutes(5)), .oneAtATime)
struct MediaDetailsTests {
  private func details(_ type: String, _ bytes: [UInt8]) -> MediaDetails {
    MediaDetails(MediaType(type)) { offset, count in
      Array(bytes.dropFirst(Int(clamping: offset)).prefix(count))
    }
  }

  private func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

  private func big(_ number: UInt64, _ length: Int) -> [UInt8] {
    (0..<length).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
  }

  private func little(_ number: UInt64, _ length: Int) -> [UInt8] { big(number, length).reversed() }

  @Test("A PNG tells its dimensions in its first chunk")
  func png() {
    let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    let head = signature + big(13, 4) + ascii("IHDR") + big(640, 4) + big(480, 4)
    #expect(details("image/png", head) == MediaDetails(width: 640, height: 480))
    #expect(details("image/png", head.dropLast()) == .none)
    #expect(details("image/png", signature + big(13, 4) + ascii("IDAT") + big(1, 8)) == .none)
  }

  @Test("A GIF tells its dimensions after its signature")
  func gif() {
    let head = ascii("GIF89a") + little(320, 2) + little(200, 2)
    #expect(details("image/gif", head) == MediaDetails(width: 320, height: 200))
    #expect(details("image/gif", ascii("GIF89a") + little(0, 4)) == .none)
  }

  @Test("A JPEG tells its dimensions behind segments of any length")
  func jpeg() {
    func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
      [0xFF, marker] + big(UInt64(content.count + 2), 2) + content
    }
    let frame = [8] + big(1080, 2) + big(1920, 2) + [3, 0, 0, 0]
    let start: [UInt8] = [0xFF, 0xD8]
    let application = segment(0xE1, [UInt8](repeating: 7, count: 60_000))
    let tables = segment(0xC4, [UInt8](repeating: 7, count: 30))
    for marker: UInt8 in [0xC0, 0xC2, 0xCF] {
      let bytes = start + application + [0xFF] + tables + segment(marker, frame)
      #expect(details("image/jpeg", bytes) == MediaDetails(width: 1920, height: 1080))
    }
    #expect(details("image/jpeg", start + application) == .none)
    #expect(details("image/jpeg", start + segment(0xDA, frame) + segment(0xC0, frame)) == .none)
    #expect(details("image/jpeg", start + ascii("no segment at all")) == .none)
  }

  @Test("A WAV tells its rate, and by its data how long it is")
  func wav() {
    let head = ascii("RIFF....WAVE")
    let list = ascii("LIST") + little(3, 4) + [1, 2, 3, 0]
    let format =
      ascii("fmt ") + little(16, 4) + little(1, 2) + little(2, 2) + little(44_100, 4)
      + little(176_400, 4) + little(4, 2) + little(16, 2)
    let data = ascii("data") + little(441_000, 4)
    #expect(details("audio/wav", head + list + format + data) == MediaDetails(duration: 2.5))
    #expect(details("audio/wav", head + data) == .none)
    #expect(details("audio/wav", head + format) == .none)
  }

  @Test("An AIFF tells its rate and its number of frames")
  func aiff() {
    let rate: [UInt8] = [0x40, 0x0E, 0xAC, 0x44, 0, 0, 0, 0, 0, 0]
    let common = ascii("COMM") + big(18, 4) + big(2, 2) + big(66_150, 4) + big(16, 2) + rate
    #expect(details("audio/aiff", ascii("FORM....AIFF") + common) == MediaDetails(duration: 1.5))
    #expect(details("audio/aiff", ascii("FORM....AIFF") + common.dropLast()) == .none)
  }

  @Test("A FLAC tells its rate and its number of samples")
  func flac() {
    let bits = UInt64(48_000) << 44 | UInt64(0xF7) << 36 | UInt64(12_000)
    let head = ascii("fLaC") + [0] + big(34, 3) + [UInt8](repeating: 9, count: 10) + big(bits, 8)
    #expect(details("audio/flac", head) == MediaDetails(duration: 0.25))
    #expect(details("audio/flac", head.dropLast()) == .none)
  }

  @Test("An AVI tells its dimensions, and its number of frames")
  func avi() {
    let head =
      ascii("RIFF....AVI LIST....hdrlavih") + little(56, 4) + little(40_000, 4)
      + [UInt8](repeating: 0, count: 12) + little(75, 4) + [UInt8](repeating: 0, count: 12)
      + little(352, 4) + little(288, 4)
    #expect(
      details("video/x-msvideo", head) == MediaDetails(width: 352, height: 288, duration: 3))
  }

  @Test("An MP4 tells how long it is, wherever its header is", arguments: [0, 1])
  func mp4(version: UInt64) {
    func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
      big(UInt64(content.count + 8), 4) + ascii(type) + content
    }
    let times = [UInt8](repeating: 0, count: version == 0 ? 8 : 16)
    let header = big(version << 24, 4) + times + big(600, 4) + big(4500, version == 0 ? 4 : 8)
    let movie = box("moov", box("udta", [1, 2, 3]) + box("mvhd", header + times + times))
    let media = big(1, 4) + ascii("mdat") + big(16 + 100, 8) + [UInt8](repeating: 0, count: 100)
    let bytes = box("ftyp", ascii("isom....")) + media + movie
    #expect(details("video/mp4", bytes) == MediaDetails(duration: 7.5))
    #expect(details("video/quicktime", bytes) == MediaDetails(duration: 7.5))
    #expect(details("video/mp4", box("ftyp", ascii("isom....")) + media) == .none)
    #expect(details("video/mp4", big(0, 4) + ascii("mdat") + big(0, 64)) == .none)
    let endless = big(1, 4) + ascii("mdat") + big(.max, 8)
    #expect(details("video/mp4", endless) == .none)
  }

  @Test("Details stand in the sidecar, and only where there are any")
  func sidecar() async throws {
    let folder = try TemporaryFolder()
    try folder.write(Data(ascii("GIF89a") + little(3, 2) + little(2, 2)), to: "in/a.gif")
    try folder.write("text", to: "in/b")
    #expect(try await ingest(folder).counts == [2, 0, 0])
    let text = try folder.read("out/a.gif.json")
    #expect(text.contains("  \"height\" : 2,\n"))
    #expect(text.hasSuffix(",\n  \"width\" : 3\n}"))
    #expect(folder.sidecar(of: "a.gif")?.width == 3)
    #expect(folder.sidecar(of: "b")?.width == nil)
    #expect(try await ingest(folder).counts == [0, 2, 0])
  }

  @Test("Random bytes of any type make no trouble")
  func random() {
    var generator = SeededGenerator(seed: 15)
    let types = [
      "image/png", "image/gif", "image/jpeg", "audio/wav", "audio/aiff", "audio/flac",
      "video/x-msvideo", "video/mp4",
    ]
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 0...100, using: &generator)).map { _ in
        UInt8.random(in: .min ... .max, using: &generator)
      }
      for type in types {
        let found = details(type, bytes)
        #expect((found.width ?? 1) > 0 && (found.duration ?? 1) > 0)
      }
    }
  }
}
