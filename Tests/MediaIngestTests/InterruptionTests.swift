import Foundation
import Properations
import TestSupport
import Testing

@testable import MediaIngest

/// Ctrl-C, from a terminal that shows progress.
@Suite("Interruption", .timeLimit(.minutes(5)), .oneAtATime)
struct InterruptionTests {
  @Test("Ctrl-C keeps what is done and exits with 130; the next run goes on from there")
  func interrupted() async throws {
    let program = Program("MediaIngest")
    let folder = try TemporaryFolder()
    for name in ["a", "b", "c"] { try folder.write(name, to: "in/\(name)") }
    try folder.makeSparseFile("in/large", size: 1 << 40)
    try folder.write("", to: "output")
    let terminal = try Terminal()
    let process = Process()
    process.executableURL = program.url
    process.arguments = ["--jobs", "1", folder.path("in")]
    process.standardOutput = try FileHandle(
      forWritingTo: folder.url.appendingPathComponent("output"))
    process.standardError = terminal.processSide
    let exitCode = process.runAsFuture()

    try await terminal.appearance(of: "3 of 4 files").value
    kill(process.processIdentifier, SIGINT)
    #expect(try await exitCode.value == 130)
    let text = try folder.read("output")
    #expect(text.contains("4 files: 3 written, 0 done before, 0 failed"))
    #expect(text.contains("Interrupted after 3 of 4 files."))
    // The progress line is erased at the end.
    try await terminal.appearance(of: "\r\u{1B}[K").value
    #expect(terminal.text.hasSuffix("\r\u{1B}[K"))

    try folder.write("short now", to: "in/large")
    let second = try await program.run([folder.path("in")])
    #expect(second.exitCode == 0)
    #expect(second.output.contains("4 files: 1 written, 3 done before, 0 failed; 9 bytes read."))
  }
}
