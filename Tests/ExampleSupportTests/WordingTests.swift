import ExampleSupport
import Foundation
import TestSupport
import Testing

@Suite("Wording of the examples", .timeLimit(.minutes(5)), .oneAtATime)
struct WordingTests {
  @Test("One thing is not told in the plural")
  func plurals() {
    #expect([0, 1, 2].map { $0.of("file") } == ["0 files", "1 file", "2 files"])
    #expect([1, 3].map { $0.of("entry", plural: "entries") } == ["1 entry", "3 entries"])
    #expect([0, 1, 2].map { Int64($0).asSize } == ["0 bytes", "1 byte", "2 bytes"])
  }

  @Test("Characters that change how a terminal shows others are escaped; no others are")
  func visible() {
    #expect("häß 日本 🎉 a\\b".visible == "häß 日本 🎉 a\\b")
    #expect("a\nb\u{1B}[31m\u{7F}".visible == "a\\u{a}b\\u{1b}[31m\\u{7f}")
    #expect(
      "\u{202E}\u{2066}\u{200F}\u{2028}\u{2029}\u{85}".visible
        == "\\u{202e}\\u{2066}\\u{200f}\\u{2028}\\u{2029}\\u{85}")
  }

  @Test("An error that the system has reported is told in its words")
  func systemMessages() throws {
    let cannot = NSError(domain: NSPOSIXErrorDomain, code: Int(ENOSPC))
    #expect(cannot.message == "No space left on device")
    #expect(POSIXError(.EACCES).message == "Permission denied")
    #expect(SystemError(code: ENOENT).message == "No such file or directory")
    let wrapped = NSError(
      domain: NSCocoaErrorDomain, code: 512, userInfo: [NSUnderlyingErrorKey: cannot])
    #expect(wrapped.message == "No space left on device")
    // This error has neither a description nor the system's number.
    #expect(NSError(domain: NSCocoaErrorDomain, code: 512).message == "it cannot be written")
    #expect(NSError(domain: NSCocoaErrorDomain, code: 257).message == "Permission denied")
    #expect(UsageError("wrong").message == "wrong")
  }

  @Test("An error of Foundation's own functions is told in the system's words")
  func foundationMessages() throws {
    let folder = try TemporaryFolder("ExampleSupportTests")
    func message(_ body: () throws -> Void) -> String {
      do {
        try body()
        return ""
      } catch { return error.message }
    }
    #expect(
      message { try Data().write(to: folder.file("none/file")) } == "No such file or directory")
    #expect(
      message { _ = try Data(contentsOf: folder.file("none")) } == "No such file or directory")
    #expect(
      message {
        try FileManager.default.createDirectory(
          at: folder.url, withIntermediateDirectories: false)
      } == "File exists")
  }

  @Test("A file of text is written over what was there, and read as it is")
  func textFile() throws {
    let folder = try TemporaryFolder("ExampleSupportTests")
    let path = folder.file("text").path
    try TextFile.write("a longer text", to: path)
    try TextFile.write("short", to: path)
    #expect(try TextFile.read(path) == Array("short".utf8))
    #expect(throws: SystemError(code: ENOTDIR)) { try TextFile.write("", to: path + "/none") }
    #expect(throws: SystemError(code: EISDIR)) { try TextFile.read(folder.url.path) }
  }
}
