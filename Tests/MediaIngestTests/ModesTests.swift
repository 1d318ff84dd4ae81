import ExampleSupport
import Foundation
import Properations
import TestSupport
import Testing

@testable import MediaIngest

/// Repeating, verifying and pruning.
@Suite("Modes", .timeLimit(.minutes(5)), .oneAtATime)
struct ModesTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["a", "b", "sub/c"] { try folder.write("content of \(name)", to: "in/\(name)") }
  }

  /// Writes other content of the same length, and restores the time.
  private func tamper(_ name: String) throws {
    let path = folder.path("in/\(name)")
    let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate]
    var info = stat()
    try systemCall { stat(path, &info) }
    let descriptor = try systemCall { open(path, O_WRONLY) }
    defer { close(descriptor) }
    try systemCall { write(descriptor, "C", 1) }
    #if canImport(Darwin)
      let times = [info.st_atimespec, info.st_mtimespec]
    #else
      let times = [info.st_atim, info.st_mtim]
    #endif
    try systemCall { futimens(descriptor, times) }
    #expect(date != nil)
  }

  @Test("With force all files are done again")
  func force() async throws {
    #expect(try await ingest(folder).counts == [3, 0, 0])
    try tamper("a")
    #expect(try await ingest(folder).counts == [0, 3, 0])
    #expect(try await ingest(folder, options: ["--force"]).counts == [3, 0, 0])
    #expect(try await ingest(folder, options: ["--verify"]).counts == [0, 3, 0])
  }

  @Test("Verifying reads all files, finds what differs, and writes nothing")
  func verify() async throws {
    #expect(try await ingest(folder).counts == [3, 0, 0])
    let good = try await ingest(folder, options: ["--verify"])
    #expect(good.counts == [0, 3, 0])
    #expect(good.bytesRead == 12 + 12 + 16)

    try tamper("a")
    try folder.write("longer than before", to: "in/b")
    try folder.write("new", to: "in/new")
    try folder.write("{", to: "out/sub/c.json")
    let before = try folder.output().map { try folder.read("out/\($0)") }
    let summary = try await ingest(folder, options: ["--verify"])
    #expect(summary.counts == [0, 0, 4])
    #expect(
      summary.problems.map { "\($0.file) \($0.message)" } == [
        "a has another content than when it was ingested", "b has changed since it was ingested",
        "new has no sidecar that is whole", "sub/c has no sidecar that is whole",
      ])
    #expect(try folder.output().map { try folder.read("out/\($0)") } == before)
  }

  @Test("The program tells what it has verified")
  func verifyCommand() async throws {
    let program = Program("MediaIngest")
    _ = try await program.run([folder.path("in")])
    let good = try await program.run(["--verify", folder.path("in")])
    #expect(good.exitCode == 0)
    #expect(good.output.hasSuffix("3 files: 3 verified, 0 failed; 40 bytes read.\n"))
    try tamper("a")
    let bad = try await program.run(["--verify", folder.path("in")])
    #expect(bad.exitCode == 1)
    #expect(bad.errors == "MediaIngest: a: has another content than when it was ingested\n")
  }

  @Test("Pruning removes the sidecars of files that are gone, and nothing else")
  func prune() async throws {
    #expect(try await ingest(folder).counts == [3, 0, 0])
    try folder.remove("in/a")
    try folder.remove("in/sub")
    try folder.write("mine", to: "out/mine.json")
    try folder.write(try folder.read("out/b.json"), to: "out/copy.json")
    #expect(try await ingest(folder).pruned == nil)
    let summary = try await ingest(folder, options: ["--prune"])
    #expect(summary.pruned == 2)
    #expect(summary.text.hasSuffix("2 sidecars of files that are gone removed.\n"))
    #expect(try folder.output() == ["b.json", "copy.json", "mine.json"])
    #expect(throws: SystemError(code: ENOENT)) { try FileStatus(of: folder.path("out/sub")) }
  }

  @Test("Nothing is pruned after an interruption")
  func pruneInterrupted() async throws {
    #expect(try await ingest(folder).counts == [3, 0, 0])
    try folder.remove("in/a")
    try folder.makeSparseFile("in/large", size: 1 << 40)
    let ingesting = try Ingesting(folder, options: ["--jobs", "1", "--prune"])
    let tasks = ingesting.start()
    while ingesting.ledger.summary.bytesRead < 1 << 20 {
      try await Task.sleep(for: .milliseconds(1))
    }
    ingesting.queue.cancelAllTasks()
    #expect(await ingesting.end(tasks).pruned == nil)
    #expect(folder.sidecar(of: "a") != nil)
  }

  #if os(Linux)
    @Test("Nothing is pruned if something could not be looked at")
    func pruneIncomplete() async throws {
      #expect(try await ingest(folder).counts == [3, 0, 0])
      try folder.remove("in/a")
      let path = folder.path("in/x").utf8CString.dropLast() + [CChar(bitPattern: 0xFF), 0]
      close(try systemCall { open(Array(path), O_CREAT | O_WRONLY, 0o600) })
      #expect(try await ingest(folder, options: ["--prune"]).pruned == nil)
      #expect(folder.sidecar(of: "a") != nil)
    }
  #endif

  @Test(
    "An output that would be ingested itself is refused, a hidden one is not",
    arguments: [
      ("in", "in"), ("in", "in/out"), ("in/", "in/sub/../out/deep"), ("in", "./in/x"),
      ("in/sub", "in"), ("link", "in/out"), ("in", "link/out"),
    ])
  func refused(input: String, output: String) throws {
    try systemCall { symlink("in", folder.path("link")) }
    #expect(throws: UsageError.self) {
      try FoldersApart.check(folder.path(input), folder.path(output))
    }
  }

  @Test(
    "An output beside the folder, or hidden in it, is fine",
    arguments: [
      ("in", "out"), ("in", "in2"), ("in", "in/.out"), ("in", "in/.a/b"), ("in/sub", "in/out"),
    ])
  func accepted(input: String, output: String) throws {
    #expect(throws: Never.self) {
      try FoldersApart.check(folder.path(input), folder.path(output))
    }
  }

  @Test("The program refuses an output in the folder, and writes nothing")
  func refusedCommand() async throws {
    let outcome = try await Program("MediaIngest")
      .run(["--output=\(folder.path("in/out"))", folder.path("in")])
    #expect(outcome.exitCode == 2)
    #expect(outcome.errors.contains("the output would be ingested itself"))
    #expect(throws: SystemError(code: ENOENT)) { try FileStatus(of: folder.path("in/out")) }
  }

  @Test("Where nothing fits any more the program stops with one message")
  func fullDisk() async throws {
    for index in 0..<300 { try folder.write("content", to: "in/f\(index)") }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = [
      "-c", "(ulimit -f 0; \"$0\" \"$1\" 2>&1; echo \"exit $?\") | cat >\"$2\"",
      Program("MediaIngest").url.path, folder.path("in"), folder.path("output"),
    ]
    #expect(try await process.runAsFuture().value == 0)
    let lines = try folder.read("output").split(separator: "\n")
    #expect(lines.count { $0.contains("File too large") } == 1)
    #expect(lines.count { $0.hasPrefix("MediaIngest: ") } == 1)
    #expect(lines.contains { $0.hasPrefix("Stopped after ") })
    #expect(lines.last == "exit 1")
    #expect(try folder.names(below: "in/.ingest") == [".ingest.lock"])
  }

  @Test("With closed streams it does its work, quietly")
  func closedStreams() async throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = [
      "-c", "\"$0\" \"$1\" <&- >&- 2>&-", Program("MediaIngest").url.path, folder.path("in"),
    ]
    #expect(try await process.runAsFuture().value == 0)
    #expect(
      try folder.names(below: "in/.ingest") == [".ingest.lock", "a.json", "b.json", "sub/c.json"])
    #expect(try folder.read("in/.ingest/.ingest.lock") == "")
  }

  @Test("The version is told on standard output")
  func version() async throws {
    let outcome = try await Program("MediaIngest").run(["--version"])
    #expect(outcome.output == "MediaIngest \(ToolVersion.current)\n")
    #expect(outcome.exitCode == 0)
  }
}
