import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

@Suite("A journal of a workflow that runs many times", .timeLimit(.minutes(5)), .oneAtATime)
struct JournalCompactionTests {
  private let scene: JournalScene

  init() throws { scene = try JournalScene() }

  /// Each run of the chain writes about a kilobyte.
  private func run(_ chain: RecordedChain, _ count: Int) async throws {
    for _ in 0..<count {
      chain.workflow.reset()
      #expect(try await chain.workflow.run() == .finished)
    }
  }

  @Test func `500 resets in one process: the file stays small, and has the last results`()
    async throws
  {
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal, device: .hasty)
    var largest = 0
    for _ in 0..<50 {
      try await run(chain, 10)
      largest = max(largest, try scene.bytes.count)
    }
    #expect(largest > 60_000 && largest < 85_000)
    chain.workflow.closeJournal()
    let next = try RecordedChain()
    let found = try next.workflow.resume(from: scene.journal)
    #expect(found.restored == ["a", "b", "c"] && !found.isTorn && found.damagedLineCount == 0)
    #expect(next.results == [1, 2, 3])
  }

  @Test func `a reset after the file was written anew is found, and so is what runs then`()
    async throws
  {
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal, device: .hasty)
    var last = 0
    // (Until it has become smaller.)
    while try scene.bytes.count >= last {
      last = try scene.bytes.count
      chain.tasks[1].reset()
      #expect(try await chain.workflow.run() == .finished)
    }
    chain.tasks[1].reset()
    chain.workflow.closeJournal()
    var next = try RecordedChain([1, 20, 30])
    #expect(try next.workflow.resume(from: scene.journal, device: .hasty).restored == ["a"])
    #expect(try await next.workflow.run() == .finished)
    next.workflow.closeJournal()
    next = try RecordedChain()
    #expect(try next.workflow.resume(from: scene.journal, device: .hasty).restored.count == 3)
    #expect(next.results == [1, 20, 30])
  }

  @Test func `the file cannot be written anew: it stays in use, and is written anew later`()
    async throws
  {
    let path = try JournalFile.open(scene.url, device: .hasty).temporaryPath
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal, device: .hasty)
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
    try await run(chain, 100)
    let size = try scene.bytes.count
    #expect(size > 100_000 && FileManager.default.contents(atPath: path) == Data("mine".utf8))
    try FileManager.default.removeItem(atPath: path)
    try await run(chain, 200)
    #expect(try scene.bytes.count < size)
    chain.workflow.closeJournal()
    let next = try RecordedChain()
    #expect(try next.workflow.resume(from: scene.journal).restored == ["a", "b", "c"])
  }

  @Test func `another file has got the name of the journal: it stays`() async throws {
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal, device: .hasty)
    try FileManager.default.removeItem(at: scene.url)
    try scene.write(Array("another".utf8))
    try await run(chain, 100)
    #expect(try scene.bytes == Array("another".utf8))
  }

  @Test func `the file can never be written anew: the attempts become rare`() async throws {
    let (journal, attempts) = (Box<Int32?>(nil), Counter())
    var device = JournalDevice.hasty
    device.write = { descriptor, bytes in
      if journal.value == nil { journal.value = descriptor }
      if journal.value == descriptor { return JournalDevice.system.write(descriptor, bytes) }
      attempts.add()
      return -Int(ENOSPC)
    }
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal, device: device)
    for _ in 0..<400 {
      chain.tasks[1].reset()
      #expect(try await chain.workflow.run() == .finished)
    }
    #expect(try scene.bytes.count > 200_000)
    #expect((1...4).contains(attempts.value), "\(attempts.value) attempts")
  }
}
