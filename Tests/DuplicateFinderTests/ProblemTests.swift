import ExampleSupport
import Foundation
import Properations
import TestSupport
import Testing

@testable import DuplicateFinder

/// Files that have changed, or cannot be read.
@Suite("Problems", .timeLimit(.minutes(5)), .oneAtATime)
struct ProblemTests {
  let folder: TemporaryFolder
  let findings = Findings()

  init() throws {
    folder = try TemporaryFolder()
    for name in ["a", "b", "c", "d"] { try folder.write("same", to: name) }
  }

  /// Compares files as they were before `change`.
  private func names(
    of names: [String], after change: () throws -> Void
  ) async throws -> [[String]] {
    let files = try names.map(folder.file)
    try change()
    let comparer = ContentComparer(
      on: Promises.defaultOperationQueue, width: 2, until: CancellationScope(), findings: findings)
    let groups = try await comparer.duplicates(among: files).value
    return groups.map { $0.files.map { folder.name(of: $0.path) } }
  }

  private var kinds: [String: Problem.Kind] {
    Report(of: findings.soFar, isComplete: true).problemKinds(in: folder)
  }

  @Test("A file that vanished is reported, the others are compared", arguments: ["a", "b", "d"])
  func vanished(name: String) async throws {
    let groups = try await names(of: ["a", "b", "c", "d"]) { try folder.remove(name) }
    #expect(groups == [["a", "b", "c", "d"].filter { $0 != name }])
    #expect(kinds == [name: .vanished])
  }

  @Test("A file of a pair that vanished is reported, whichever it is", arguments: ["a", "b"])
  func vanishedFromPair(name: String) async throws {
    let groups = try await names(of: ["a", "b"]) { try folder.remove(name) }
    #expect(groups.isEmpty)
    #expect(kinds == [name: .vanished])
  }

  @Test("The first file of several that fails leaves the others comparable")
  func firstFails() async throws {
    let files = try ["a", "b", "c"].map(folder.file)
    try folder.remove("a")
    let comparer = ContentComparer(
      on: Promises.defaultOperationQueue, width: 2, until: CancellationScope(), findings: findings)
    let groups = try await comparer.compare(files).value
    #expect(groups.map { $0.files.map { folder.name(of: $0.path) } } == [["b", "c"]])
    #expect(kinds == ["a": .vanished])
  }

  @Test("A file that grew or shrank is reported as changed", arguments: ["same and more", "s", ""])
  func resized(content: String) async throws {
    let groups = try await names(of: ["a", "b", "c"]) { try folder.write(content, to: "b") }
    #expect(groups == [["a", "c"]])
    #expect(kinds == ["b": .changed])
  }

  @Test("A file of the same size that was written to is reported as changed")
  func rewritten() async throws {
    let groups = try await names(of: ["a", "b", "c"]) {
      let date = Date(timeIntervalSinceNow: -1000)
      try FileManager.default.setAttributes(
        [.modificationDate: date], ofItemAtPath: folder.path("b").text)
    }
    #expect(groups == [["a", "c"]])
    #expect(kinds == ["b": .changed])
  }

  @Test("A file that ends before its size says so is reported as changed while it is read")
  func shrinksWhileRead() throws {
    let content = try OpenFile(try folder.file("a"))
    try systemCall { folder.path("a").withCString { truncate($0, 2) } }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 1)
    defer { buffer.deallocate() }
    let problem = Problem(changed: folder.path("a"))
    #expect(throws: problem) { try content.read(into: buffer) }
    #expect(throws: problem) { try content.assertUnchanged() }
  }

  @Test("A pipe or a link in the place of a file is reported as changed, and blocks nobody")
  func replaced() async throws {
    let groups = try await names(of: ["a", "b", "c", "d"]) {
      try folder.remove("a")
      try systemCall { folder.path("a").withCString { mkfifo($0, 0o600) } }
      try folder.remove("b")
      try folder.makeSymbolicLink("b", to: "c")
    }
    #expect(groups == [["c", "d"]])
    #expect(kinds == ["a": .changed, "b": .changed])
  }

  @Test("A folder that vanished is reported as vanished")
  func folderVanished() throws {
    try folder.write("same", to: "sub/e")
    let sub = Folder(path: folder.path("sub"), id: try FileStatus(of: folder.path("sub")).id)
    try folder.remove("sub")
    #expect(throws: Problem(sub.path, .vanished, "vanished during the search")) {
      try sub.list(except: { _ in false }, until: CancellationScope())
    }
  }

  @Test("What may not be read is reported", .enabled(if: geteuid() != 0))
  func forbidden() async throws {
    try folder.write("same", to: "sub/e")
    for name in ["a", "sub"] {
      try systemCall { folder.path(name).withCString { chmod($0, 0) } }
    }
    defer { _ = folder.path("sub").withCString { chmod($0, 0o700) } }
    let report = try await search(folder)
    #expect(report.names(in: folder) == [["b", "c", "d"]])
    #expect(report.problemKinds(in: folder) == ["a": .unreadable, "sub": .unreadable])
    #expect(report.exitCode == .incomplete)
  }
}
