import Foundation
import Properations
import TestSupport
import Testing

@testable import DuplicateFinder

/// Ctrl-C, from a terminal that shows progress.
@Suite("Interruption", .timeLimit(.minutes(1)), .oneAtATime)
struct InterruptionTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.makeSparseFile("large1", size: 1 << 40)
    try folder.makeSparseFile("large2", size: 1 << 40)
    for name in ["small1", "small2"] { try folder.write("same", to: name) }
  }

  @Test("Ctrl-C in the middle of large files prints what was found, and exits with 130")
  func interrupted() async throws {
    try folder.write("", to: "output")
    let output = folder.url.appendingPathComponent("output")
    let terminal = try Terminal(awaiting: "1 groups")
    let process = Process()
    process.executableURL = Tool.url
    process.arguments = [folder.path.text]
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = terminal.processSide
    let exitCode = process.runAsFuture()
    try terminal.processSide.close()

    try await terminal.mark.value
    let start = ContinuousClock.now
    kill(process.processIdentifier, SIGINT)
    #expect(try await exitCode.value == 130)
    // Promptly for a person; loosely, for a busy machine.
    #expect(ContinuousClock.now - start < .seconds(5))
    let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
    #expect(text.contains("small1\n"))
    #expect(text.contains("Interrupted. So far: 1 group of equal files, 4 bytes wasted"))
    // The progress line is erased in the end.
    #expect(try await terminal.allText.value.hasSuffix("\r\u{1B}[K"))
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
    let other = try systemCall {
      Path(name).withCString { open($0, O_RDWR | O_NOCTTY | O_CLOEXEC) }
    }
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
