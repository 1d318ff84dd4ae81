import Foundation
import Properations
import TestSupport
import Testing

@testable import DuplicateFinder

/// Which files count as equal.
@Suite("Content", .timeLimit(.minutes(5)), .oneAtATime)
struct ContentTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("Files with equal content are a group, in the order of their paths")
  func equal() async throws {
    for name in ["c", "a", "deep/down/b"] { try folder.write("same", to: name) }
    try folder.write("else", to: "other")
    let report = try await search(folder)
    #expect(report.names(in: folder) == [["a", "c", "deep/down/b"]])
    #expect(report.wastedBytes == 8)
    #expect(report.exitCode == .done)
  }

  @Test("Each set of files of one size counts once in the progress, and at the end all do")
  func progress() async throws {
    for size in 1...20 {
      for name in ["a", "b"] {
        try folder.write(String(repeating: name, count: size), to: "\(name)\(size)")
      }
    }
    let search = DuplicateSearch(try Options([folder.path]), scope: CancellationScope())
    try await search.start().value
    #expect(search.findings.soFar.candidates == 20)
    #expect(search.findings.soFar.candidatesCompared == 20)
  }

  @Test(
    "Files that differ in one byte are not equal, wherever the byte is",
    arguments: [0, 1, 16_383, 16_384, 262_143, 262_144, 599_999], [2, 3])
  func oneByte(position: Int, copies: Int) async throws {
    let content = Data(repeating: 7, count: 600_000)
    var different = content
    different[position] = 8
    for copy in 0..<copies { try folder.write(content, to: "same\(copy)") }
    try folder.write(different, to: "different")
    let report = try await search(folder)
    #expect(report.names(in: folder) == [(0..<copies).map { "same\($0)" }])
  }

  @Test("Two files of the same size that differ are no group", arguments: [0, 299_999])
  func pair(position: Int) async throws {
    var content = Data(repeating: 7, count: 300_000)
    try folder.write(content, to: "a")
    content[position] = 8
    try folder.write(content, to: "b")
    #expect(try await search(folder).groups.isEmpty)
  }

  @Test("Several groups of one size are told apart")
  func severalGroups() async throws {
    for name in ["a1", "b1", "c1", "a2", "b2", "a3"] {
      try folder.write("content of \(name.prefix(1))", to: name)
    }
    let report = try await search(folder)
    #expect(report.names(in: folder) == [["a1", "a2", "a3"], ["b1", "b2"]])
  }

  @Test("Files whose digests collide are still compared byte by byte")
  func collision() async throws {
    for name in ["a1", "b1", "c1", "b2", "a2", "b3"] {
      try folder.write("\(name.first!)", to: name)
    }
    let files = try ["a1", "b1", "c1", "b2", "a2", "b3"].map(folder.file)
    let comparer = ContentComparer(
      on: Promises.defaultOperationQueue, width: 2, until: CancellationScope(), findings: Findings()
    )
    let groups = try await comparer.compare(files).value
    #expect(
      groups.map { $0.files.map { folder.name(of: $0.path) } } == [
        ["a1", "a2"], ["b1", "b2", "b3"],
      ])
  }

  @Test("Empty files are counted, and only listed when asked for")
  func empty() async throws {
    try folder.write("", to: "a")
    try folder.write("", to: "b")
    let report = try await search(folder)
    #expect(report.groups.isEmpty)
    #expect(report.emptyFiles == 2)
    let full = try await search(folder, options: ["--empty"])
    #expect(full.names(in: folder) == [["a", "b"]])
    #expect(full.wastedBytes == 0)
  }

  @Test("More files of one size than may be open are compared all the same")
  func openLimit() async throws {
    for index in 0..<60 { try folder.write("content \(index % 3)", to: "f\(index)") }
    let report = try await search(folder, options: ["--open-files", "2"])
    #expect(report.groups.map(\.files.count) == [20, 20, 20])
  }

  @Test("The greatest waste comes first, then the order of the paths")
  func order() async throws {
    for name in ["z1", "z2"] { try folder.write("a long content", to: name) }
    for name in ["b1", "b2"] { try folder.write("b", to: name) }
    for name in ["a1", "a2"] { try folder.write("a", to: name) }
    let report = try await search(folder)
    #expect(report.names(in: folder) == [["z1", "z2"], ["a1", "a2"], ["b1", "b2"]])
  }

  @Test("A small file is read once, whatever it is equal to")
  func readOnce() async throws {
    for index in 0..<50 { try folder.write("content \(index % 5)", to: "f\(index)") }
    let search = DuplicateSearch(try Options([folder.path]), scope: CancellationScope())
    try await search.start().value
    #expect(search.findings.soFar.groups.map(\.files.count) == [10, 10, 10, 10, 10])
    #expect(search.findings.soFar.bytesRead == 50 * 9)
  }

  @Test("Large equal files are read twice besides their beginning")
  func readTwice() async throws {
    for index in 0..<20 { try folder.makeSparseFile("f\(index)", size: 1 << 20) }
    let search = DuplicateSearch(try Options([folder.path]), scope: CancellationScope())
    try await search.start().value
    #expect(search.findings.soFar.groups.map(\.files.count) == [20])
    // A comparison counts the bytes of one of the two files.
    #expect(search.findings.soFar.bytesRead == 19 << 20 + 20 * ContentComparer.beginning)
  }

  @Test("Large files that begin alike and differ are not each compared with each other one")
  func manyDifferent() async throws {
    let count = 40
    for index in 0..<count {
      var content = Data(count: 100_000)
      content[99_999] = UInt8(index)
      try folder.write(content, to: "f\(index)")
    }
    let search = DuplicateSearch(try Options([folder.path]), scope: CancellationScope())
    try await search.start().value
    #expect(search.findings.soFar.groups.isEmpty)
    // Each file is compared with the first and digested.
    #expect(search.findings.soFar.bytesRead < Int64(3 * count * 100_000))
  }

  @Test("More files of one size than are kept in memory are compared all the same")
  func tooManyForMemory() async throws {
    let count = 5000
    for index in 0..<count { try folder.makeSparseFile("f\(index)", size: 40_000) }
    for index in 0..<2 {
      try folder.write(Data(repeating: 1, count: 40_000), to: "g\(index)")
    }
    var content = Data(count: 40_000)
    content[39_999] = 1
    try folder.write(content, to: "other")
    let report = try await search(folder)
    #expect(report.groups.map(\.files.count) == [count, 2])
    #expect(report.problems.isEmpty)
  }

  @Test("What was read of files is equal only if all bytes are")
  func contents() {
    let bytes: [UInt8] = [1, 2, 3]
    #expect(Content(of: 3, bytes) == Content(of: 3, bytes))
    #expect(Content(of: 3, bytes) != Content(of: 4, bytes))
    #expect(Content(of: 3, bytes) != Content(of: 3, [1, 2, 4]))
    #expect(Content(of: 0, []) == Content(of: 0, []))
    #expect(Content(of: 3, digest: 7) == Content(of: 3, digest: 7))
    #expect(Content(of: 3, digest: 7) != Content(of: 3, digest: 8))
    #expect(Content(of: 3, digest: 7) != Content(of: 4, digest: 7))
  }
}
