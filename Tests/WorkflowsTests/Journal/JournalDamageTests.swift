import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

/// Five tasks: a chain, one by itself that was reset and ran again, and one that was
/// reset and did not.
private struct Five {
  let workflow = inlineWorkflow("five")
  let tasks: [String: BlockWorkflowTask<Int>]

  init(_ values: [String: Int] = [:]) throws {
    var tasks: [String: BlockWorkflowTask<Int>] = [:]
    for name in ["a", "b", "c", "again", "gone"] {
      tasks[name] = BlockWorkflowTask<Int>(name: name) { $0.finish(with: values[name] ?? 0) }
        .journaled(as: name)
    }
    self.tasks = tasks
    let (a, b, c) = (try task("a"), try task("b"), try task("c"))
    let between = counting("between")
    try workflow.add(a)
    try workflow.add(b, prerequisites: a)
    // (Not recorded: what depends on it depends on `b` all the same.)
    try workflow.add(between, prerequisites: b)
    try workflow.add(c, prerequisites: between)
    try workflow.add(task("again"))
    try workflow.add(task("gone"))
  }

  func task(_ name: String) throws -> BlockWorkflowTask<Int> { try #require(tasks[name]) }

  func start(_ names: String...) throws {
    for name in names {
      let task = try task(name)
      task.start()
      // (One write each.)
      let isFinished = eventuallyBlocking { task.isFinished }
      try #require(isFinished)
    }
  }

  /// Restores from a file, and closes it.
  func resume(_ scene: JournalScene) throws -> WorkflowResumption {
    defer { workflow.closeJournal() }
    return try workflow.resume(from: scene.journal, device: .hasty)
  }

  var results: [String: Int] { tasks.compactMapValues { $0.result } }
}

@Suite("A journal that is damaged", .timeLimit(.minutes(10)), .oneAtATime)
struct JournalDamageTests {
  private let scene: JournalScene
  /// A small journal, in which each task but `again` finished with 1, and `again` with 2.
  private let original: [UInt8]
  /// The tasks that the journals of most tests are compared with.
  private let tree: JournaledTree
  private let recorded: Set<String> = ["a", "b", "c", "again"]
  private let right = ["a": 1, "b": 1, "c": 1, "again": 2]

  init() throws {
    scene = try JournalScene()
    original = try Self.record(in: scene)
    tree = try JournaledTree(of: Five().workflow)
  }

  private static func record(in scene: JournalScene) throws -> [UInt8] {
    let ones = ["a": 1, "b": 1, "c": 1, "again": 1, "gone": 1]
    let first = try Five(ones)
    try first.workflow.resume(from: scene.journal, device: .hasty)
    try first.start("a", "gone", "again", "b")
    try first.task("gone").reset()
    try first.task("again").reset()
    first.workflow.closeJournal()
    let second = try Five(ones.merging(["again": 2]) { $1 })
    try second.workflow.resume(from: scene.journal, device: .hasty)
    // (A file that was not compacted: forgotten results are in it.)
    second.workflow.start()
    let hasFinished = eventuallyBlocking { !second.workflow.hasUnfinishedTasks }
    try #require(hasFinished)
    try second.task("gone").reset()
    second.workflow.closeJournal()
    return try scene.bytes
  }

  @Test func `undamaged: all is restored`() throws {
    let five = try Five()
    let resumption = try five.resume(scene)
    #expect(Set(resumption.restored) == recorded)
    #expect(resumption.damaged == [] && resumption.forgotten == [] && !resumption.isTorn)
    #expect(five.results == right)
    #expect(try scene.bytes == original, "an intact file is not written again")
  }

  /// What a start would make of bytes, without a file: what it would restore, and what
  /// it would write in their place.
  private func look(
    at bytes: [UInt8]
  ) throws -> (found: WorkflowResumption, results: [String: Int], mended: [UInt8]) {
    let contents = try JournalContents(bytes)
    let match = JournalMatch(contents, tree)
    let results = match.results.mapValues { ($0.box as? ResultBox<Int>)?.result ?? -1 }
    let mended = match.fits(contents) ? bytes : match.rewritten(salt: 7).bytes
    return (match.resumption, results, mended)
  }

  /// What has to hold whatever was changed in a file.
  private func check(_ bytes: [UInt8], _ change: String) throws {
    let (found, results, mended) = try look(at: bytes)
    let named = Set(found.damaged + found.forgotten)
    #expect(results.allSatisfy { right[$0] == $1 }, "\(change): \(results)")
    #expect(Set(found.restored) == Set(results.keys), "\(change)")
    #expect(named.isDisjoint(with: found.restored), "\(change): \(named)")
    #expect(named.union(found.restored) == recorded, "\(change): \(found)")
    #expect(!found.hasMismatch, "\(change): \(found)")
    // The chain, through a task that is not recorded.
    #expect(results["b"] == nil || results["a"] != nil, "\(change)")
    #expect(results["c"] == nil || results["b"] != nil, "\(change)")
    // The file is mended: the next start finds the same, and nothing to complain of.
    let (next, sameResults, sameBytes) = try look(at: mended)
    #expect(sameResults == results && sameBytes == mended, "\(change)")
    #expect(!next.isTorn && next.damaged == [] && next.forgotten == [], "\(change): \(next)")
  }

  @Test func `each byte changed: never a wrong result, and what is dropped is named`() throws {
    for i in original.indices {
      // (A newline makes a difference where something ends.)
      let isWord = JournalFormat.digit(original[i]) != nil
      for change in isWord ? [original[i] ^ 1] : [original[i] ^ 1, UInt8(ascii: "\n")]
      where change != original[i] {
        var bytes = original
        bytes[i] = change
        try check(bytes, "byte \(i) is \(change)")
      }
    }
  }

  @Test func `every fiftieth byte changed: a workflow that is resumed has what is right`() throws {
    for i in stride(from: 0, to: original.count, by: 50) {
      var bytes = original
      bytes[i] ^= 1
      try scene.write(bytes)
      let five = try Five()
      let found = try five.resume(scene)
      let (expected, results, mended) = try look(at: bytes)
      #expect(found == expected && five.results == results, "byte \(i)")
      #expect(try scene.bytes.count == mended.count, "byte \(i)")
    }
  }

  @Test func `each byte left out: never a wrong result, and what is dropped is named`() throws {
    let length = JournalFormat.header(JournalFormat.Header(salt: 0)).count
    for i in original.indices where i >= length {
      var bytes = original
      bytes.remove(at: i)
      try check(bytes, "byte \(i) is left out")
    }
  }

  @Test func `each line left out: never a wrong result, and what is dropped is named`() throws {
    let lines = original.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for i in lines.indices.dropFirst(2) {
      var rest = lines
      rest.remove(at: i)
      // (Without its last line a file is as it was before that: nothing is dropped.)
      guard i < lines.count - 2 else { continue }
      try check(Array(rest.joined(separator: [UInt8(ascii: "\n")])), "line \(i) is left out")
    }
  }

  @Test func `cut at each length: as it was at that time`() throws {
    let header = JournalFormat.header(JournalFormat.Header(salt: 0)).count
    for length in 0...original.count {
      let bytes = Array(original[..<length])
      let (found, results, mended) = try look(at: bytes)
      let (expected, isWhole) = Self.state(of: bytes)
      #expect(results == expected, "cut at \(length)")
      if length >= header { #expect(found.isTorn == !isWhole, "cut at \(length)") }
      #expect(found.damaged == [] && found.forgotten == [], "cut at \(length)")
      let (next, sameResults, _) = try look(at: mended)
      #expect(sameResults == expected && !next.isTorn, "cut at \(length)")
    }
  }

  @Test func `cut at each length of its first two lines: what is recorded then is found`()
    throws
  {
    for length in 0...JournalFormat.header(JournalFormat.Header(salt: 0)).count {
      try scene.write(Array(original[..<length]))
      let five = try Five()
      try five.workflow.resume(from: scene.journal, device: .hasty)
      try five.start("gone")
      five.workflow.closeJournal()
      let next = try Five().resume(scene)
      #expect(next.restored == ["gone"] && next.damaged == [], "cut at \(length)")
    }
  }

  #if os(Linux)
    @Test func `a process that is being launched has the file: another workflow gets it`()
      throws
    {
      let five = try Five()
      try five.workflow.resume(from: scene.journal, device: .hasty)
      let path = scene.url.path
      let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        .compactMap { Int32($0) }
        .filter { descriptor in
          let link = "/proc/self/fd/\(descriptor)"
          return (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) == path
        }
      // As a fork copies them.
      let copies = descriptors.map { dup($0) }
      defer { for copy in copies { close(copy) } }
      #expect(!copies.isEmpty)
      five.workflow.closeJournal()
      _ = try Five().resume(scene)
    }
  #endif

  /// What the whole lines of a file say, read in another way; and whether all are whole.
  private static func state(of bytes: [UInt8]) -> (results: [String: Int], isWhole: Bool) {
    struct Line: Decodable {
      struct Record: Decodable {
        var finished: String?
        var forgot: String?
      }
      struct Data: Decodable { var result: Int }
      var record: Record
      var data: Data?
    }
    var (results, isWhole): ([String: Int], Bool) = ([:], true)
    for text in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let line = try? JSONDecoder().decode(Line.self, from: Data(text)) else {
        isWhole = false
        continue
      }
      if let name = line.record.finished { results[name] = line.data?.result }
      if let name = line.record.forgot { results[name] = nil }
    }
    return (results, isWhole)
  }

  @Test func `two of every two neighbouring lines damaged: never a wrong result`() throws {
    let lines = original.split(separator: UInt8(ascii: "\n"))
    for i in lines.indices.dropFirst(2).dropLast() {
      var bytes = lines.map { Array($0) }
      bytes[i][40] ^= 2
      bytes[i + 1][40] ^= 2
      try scene.write(bytes.flatMap { $0 + [UInt8(ascii: "\n")] })
      let five = try Five()
      let resumption = try five.resume(scene)
      let isAtEnd = i + 1 == lines.indices.last
      #expect(resumption.isTorn == isAtEnd && resumption.damagedLineCount == (isAtEnd ? 0 : 2))
      // (At the end it is as if the two had not been written.)
      guard !isAtEnd else { continue }
      #expect(five.results.allSatisfy { right[$0] == $1 }, "lines \(i), \(i + 1)")
    }
  }

  @Test func `random damage of many bytes: no crash, and never a wrong result`() throws {
    var random = SeededGenerator()
    let header = JournalFormat.header(JournalFormat.Header(salt: 0)).count
    for _ in 0..<300 {
      var bytes = original
      // (The end stays: what is cut off is as if it had never been written.)
      let end = bytes.count - 300
      let start = Int.random(in: header..<end, using: &random)
      for i in start..<min(end, start + Int.random(in: 1...400, using: &random)) {
        bytes[i] = UInt8.random(in: 0...255, using: &random)
      }
      try scene.write(bytes)
      let five = try Five()
      let resumption = try five.resume(scene)
      #expect(five.results.allSatisfy { right[$0] == $1 }, "\(resumption) \(five.results)")
    }
  }

  @Test func `a result that looks like a line is none`() throws {
    let scene = try JournalScene()
    func make(_ value: String) throws -> (Workflow, WorkflowTask<String>) {
      let workflow = inlineWorkflow()
      let task = BlockWorkflowTask<String>(name: "t") { $0.finish(with: value) }
        .journaled(as: "t")
      try workflow.add(task)
      return (workflow, task)
    }
    let text = String(decoding: original, as: UTF8.self)
    let (first, task) = try make(text)
    try first.resume(from: scene.journal, device: .hasty)
    first.start()
    #expect(eventuallyBlocking { task.isFinished })
    first.closeJournal()
    let (second, restored) = try make("")
    defer { second.closeJournal() }
    try second.resume(from: scene.journal, device: .hasty)
    #expect(restored.result == text)
  }
}
