import Foundation
import Properations
import TestSupport
import Testing

@testable import DuplicateFinder

/// Ctrl-C, from a terminal that shows progress.
@Suite("Interruption", .timeLimit(.minutes(5)), .oneAtATime)
struct InterruptionTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.makeSparseFile("large1", size: 1 << 40)
    try folder.makeSparseFile("large2", size: 1 << 40)
    for name in ["small1", "small2"] { try folder.write("same", to: name) }
  }

  @Test(
    "A signal in the middle of large files prints what was found, and tells by the exit code",
    arguments: [SIGINT, SIGTERM])
  func interrupted(by signal: Int32) async throws {
    try folder.write("", to: "output")
    let output = folder.url.appendingPathComponent("output")
    let terminal = try Terminal()
    let mark = terminal.appearance(of: "1 group")
    let process = Process()
    process.executableURL = Tool.url
    process.arguments = [folder.path.text]
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = terminal.processSide
    let exitCode = process.runAsFuture()

    try await mark.value
    let start = ContinuousClock.now
    kill(process.processIdentifier, signal)
    #expect(try await exitCode.value == 128 + signal)
    // Prompt for a person, with tolerance for a busy machine.
    #expect(ContinuousClock.now - start < .seconds(30))
    let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
    #expect(text.contains("small1\n"))
    #expect(text.contains("Interrupted. So far: 1 group of equal files, 4 bytes wasted"))
    // The progress line is erased at the end.
    try await terminal.appearance(of: "\r\u{1B}[K").value
    #expect(terminal.text.hasSuffix("\r\u{1B}[K"))
  }
}
