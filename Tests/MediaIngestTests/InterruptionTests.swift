import Foundation
import Properations
import TestSupport
import Testing

@testable import MediaIngest

/// Ctrl-C, from a terminal that shows progress.
@Suite("Interruption", .timeLimit(.minutes(1)), .oneAtATime)
struct InterruptionTests {
  @Test("Ctrl-C keeps what is done and exits with 130; the next run goes on from there")
  func interrupted() async throws {
    let folder = try TemporaryFolder()
    for name in ["a", "b", "c"] { try folder.write(name, to: "in/\(name)") }
    try folder.makeSparseFile("in/large", size: 1 << 40)
    try folder.write("", to: "output")
    let terminal = try Terminal(awaiting: "3 of 4 files")
    let process = Process()
    process.executableURL = Tool.url
    process.arguments = ["--jobs", "1", folder.path("in")]
    process.standardOutput = try FileHandle(
      forWritingTo: folder.url.appendingPathComponent("output"))
    process.standardError = terminal.processSide
    let exitCode = process.runAsFuture()
    try terminal.processSide.close()

    try await terminal.mark.value
    kill(process.processIdentifier, SIGINT)
    #expect(try await exitCode.value == 130)
    let text = try folder.text("output")
    #expect(text.contains("4 files: 3 written, 0 done before, 0 failed"))
    #expect(text.contains("Interrupted after 3 of 4 files."))
    // The progress line is erased in the end.
    #expect(try await terminal.allText.value.hasSuffix("\r\u{1B}[K"))

    try folder.write("short now", to: "in/large")
    let second = try await Tool.run(folder.path("in"))
    #expect(second.exitCode == 0)
    #expect(second.output.contains("4 files: 1 written, 3 done before, 0 failed; 9 bytes read."))
  }
}

/// Both sides of a terminal that nobody sits at.
private struct Terminal {
  let processSide: FileHandle
  /// Succeeds as soon as the text has appeared.
  let mark: Future<Void>
  /// Everything that appeared, when no process has the terminal any more.
  let allText: Future<String>

  init(awaiting text: String) throws {
    let descriptor = try systemCall { open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) }
    let name = try Self.unlock(descriptor)
    let other = try systemCall { open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) }
    processSide = FileHandle(fileDescriptor: other, closeOnDealloc: true)

    let mark = Promises.make(promising: Void.self)
    self.mark = mark
    allText = Promises.run(on: .global()) {
      defer { close(descriptor) }
      var received: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 4096)
      // Ends with an error on Linux, and with nothing elsewhere.
      while let count = try? systemCall({ read(descriptor, &buffer, buffer.count) }), count > 0 {
        received += buffer[..<count]
        if String(decoding: received, as: UTF8.self).contains(text) { mark.succeed() }
      }
      return String(decoding: received, as: UTF8.self)
    }
  }

  /// Lets processes open the other side; returns its name.
  private static func unlock(_ descriptor: Int32) throws -> String {
    #if canImport(Darwin)
      try systemCall { grantpt(descriptor) }
      try systemCall { unlockpt(descriptor) }
      return String(cString: ptsname(descriptor))
    #else
      // Glibc's functions for it are not in Swift's module; these are what
      // they call: TIOCSPTLCK and TIOCGPTN.
      var number: Int32 = 0
      try systemCall { ioctl(descriptor, 0x4004_5431, &number) }
      try systemCall { ioctl(descriptor, 0x8004_5430, &number) }
      return "/dev/pts/\(number)"
    #endif
  }
}
