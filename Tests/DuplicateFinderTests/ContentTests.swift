import Foundation
import Properations
import TestSupport
import Testing

@testable import DuplicateFinder

/// What counts as equal.
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
}
