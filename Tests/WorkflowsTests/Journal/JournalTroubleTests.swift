import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

private struct Unspeakable: Codable, Sendable {
  init() {}
  init(from decoder: any Decoder) throws { throw TestError.second }
  func encode(to encoder: any Encoder) throws { throw TestError.second }
}

@Suite("A journal that cannot be written", .timeLimit(.minutes(5)), .oneAtATime)
struct JournalTroubleTests {
  private let scene: JournalScene
  init() throws { scene = try JournalScene() }

  @Test("A reason of 100,000 characters: the text of the error has its beginning")
  func longReasons() {
    let reason = String(repeating: "x", count: 100_000)
    let errors: [WorkflowJournalError] = [
      .cannotEncode("a", reason: reason), .unusableStorage("s", reason: reason),
      .cannotRecord("a", storage: "s", reason: reason),
    ]
    for error in errors {
      #expect(error.description.count < 1_500 && error.description.contains("xxx..."))
    }
  }

  @Test func `a result that cannot be encoded fails its task`() async throws {
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    let task = BlockWorkflowTask<Unspeakable>(name: "t") { $0.finish(with: Unspeakable()) }
      .journaled(as: "t")
    try workflow.add(task)
    try workflow.resume(from: scene.journal)
    _ = try await workflow.run()
    guard case .cannotEncode("t", let reason)? = task.error as? WorkflowJournalError else {
      Issue.record("\(String(describing: task.error))")
      return
    }
    #expect(reason.contains("second"))
  }

  @Test(arguments: [0, 70])
  func `a full disk fails the task; with room again, a retry records it`(
    part: Int
  ) async throws {
    let device = FailingDevice()
    do {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: scene.journal, device: device.device)
      device.part.value = part
      device.writeError.value = ENOSPC
      _ = try await chain.workflow.run()
      #expect(chain.states == [.failed, .pending, .pending])
      #expect(
        chain.tasks[0].error as? WorkflowJournalError
          == .cannotWrite("a", scene.url.resolvingSymlinksInPath(), code: ENOSPC))
      device.writeError.value = 0
      #expect(await chain.workflow.retry().completion.successValue == .finished)
      #expect(try scene.lines.allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
    }
    let chain = try RecordedChain()
    let resumption = try chain.workflow.resume(from: scene.journal)
    #expect(resumption.restored == ["a", "b", "c"] && !resumption.isTorn)
    #expect(resumption.damagedLineCount == 0)
  }

  @Test func `a link to a file that is not there yet stays a link, and the file gets the journal`()
    async throws
  {
    let link = scene.url.deletingLastPathComponent().appendingPathComponent("link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: scene.url)
    do {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: WorkflowJournal(url: link))
      #expect(
        journalError { try RecordedChain().workflow.resume(from: scene.journal) }
          == .inUse(scene.url.resolvingSymlinksInPath()))
      _ = try await chain.workflow.run()
    }
    let target = try FileManager.default.destinationOfSymbolicLink(atPath: link.path)
    #expect(try target == scene.url.path && scene.recordCount == 3)
  }

  @Test func `a policy that tries again tries again when the disk is full`() async throws {
    let device = FailingDevice()
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    let (runs, attempts) = (Counter(), Log<Int>())
    let task = BlockWorkflowTask<Int>(name: "t") { run in
      attempts.append(run.attempt)
      if runs.add() == 3 { device.writeError.value = 0 }
      run.finish(with: runs.value)
    }.journaled(as: "t")
    task.retryPolicy = TaskRetryPolicy(attempts: 5)
    try workflow.add(task)
    try workflow.resume(from: scene.journal, device: device.device)
    device.writeError.value = ENOSPC
    #expect(try await workflow.run() == .finished)
    #expect(task.result == 3 && attempts.entries == [1, 2, 3])
    #expect(task.failedAttempts.count == 2)
  }

  @Test func `after a sync that failed nothing is recorded any more`() async throws {
    let device = FailingDevice()
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal, device: device.device)
    device.syncError.value = EIO
    _ = try await chain.workflow.run()
    #expect(chain.states == [.failed, .pending, .pending])
    device.syncError.value = 0
    _ = await chain.workflow.retry().completion
    #expect(
      chain.tasks[0].error as? WorkflowJournalError
        == .cannotWrite("a", scene.url.resolvingSymlinksInPath(), code: EIO))
    chain.workflow.closeJournal()
    let next = try RecordedChain()
    #expect(try next.workflow.resume(from: scene.journal).restored == [])
  }

  @Test func `a reset that cannot be written is written with the next result`() async throws {
    let device = FailingDevice()
    do {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: scene.journal, device: device.device)
      _ = try await chain.workflow.run()
      device.writeError.value = ENOSPC
      chain.workflow.reset()
      // (It runs again, but its result cannot be recorded before the reset is.)
      _ = try await chain.workflow.run()
      #expect(chain.states == [.failed, .pending, .pending])
      device.writeError.value = 0
      let other = try chain.workflow.add(OpenTask(name: "other").journaled(as: "other"))
      other.start()
      other.finish(with: 1)
      #expect(await eventually { other.isFinished })
    }
    let chain = try RecordedChain()
    let found = try chain.workflow.resume(from: scene.journal, onMismatch: .runAgain)
    #expect(found.unknown == ["other"] && found.restored == [])
  }

  @Test func `a file that is no journal is left as it is`() throws {
    for text in ["precious\n", "{\"sum\":\"and so on\"}\n", " "] {
      try scene.write(Array(text.utf8))
      let chain = try RecordedChain()
      #expect(
        journalError { try chain.workflow.resume(from: scene.journal) }
          == .notAJournal(scene.url.resolvingSymlinksInPath()))
      #expect(try scene.bytes == Array(text.utf8))
    }
  }

  @Test func `a journal of a later version of the package is left as it is`() throws {
    var header = JournalFormat.Header(salt: 1)
    header.format = 99
    let bytes = JournalFormat.header(header)
    try scene.write(bytes)
    let chain = try RecordedChain()
    #expect(
      journalError { try chain.workflow.resume(from: scene.journal, onMismatch: .runAgain) }
        == .newerFormat(scene.url.resolvingSymlinksInPath(), format: 99))
    #expect(try scene.bytes == bytes)
  }

  @Test func `a folder that does not exist: an error that says so`() throws {
    let chain = try RecordedChain()
    let journal = WorkflowJournal(url: URL(fileURLWithPath: "/nowhere/at/all"))
    let error = try #require(journalError { try chain.workflow.resume(from: journal) })
    #expect(error == .unusable(journal.url, code: ENOENT))
    #expect(error.description.contains("Check that its folder exists"))
  }

  @Test func `an address on the network, and a device: errors, and nothing is made`() throws {
    let chain = try RecordedChain()
    let address = try #require(URL(string: "https://example.org/journal"))
    #expect(
      journalError { try chain.workflow.resume(from: WorkflowJournal(url: address)) }
        == .unusable(address, code: EINVAL))
    let device = URL(fileURLWithPath: "/dev/null")
    #expect(
      journalError { try chain.workflow.resume(from: WorkflowJournal(url: device)) }
        == .notAJournal(device))
  }

  @Test func `one file for two workflows: an error, until the first is closed`() async throws {
    let (first, second) = (try RecordedChain(), try RecordedChain())
    try first.workflow.resume(from: scene.journal)
    #expect(
      journalError { try second.workflow.resume(from: scene.journal) }
        == .inUse(scene.url.resolvingSymlinksInPath()))
    _ = try await first.workflow.run()
    first.workflow.closeJournal()
    #expect(try second.workflow.resume(from: scene.journal).restored.count == 3)
  }

  @Test func `a workflow that is released lets go of its file`() async throws {
    do {
      let workflow = inlineWorkflow()
      try workflow.add(OpenTask(name: "open").journaled(as: "a"))
      try workflow.resume(from: scene.journal)
    }
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal)
  }

  #if os(Linux) || os(macOS)
    @Test func `another process cannot use the file meanwhile`() async throws {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: scene.journal)
      let path = scene.url.path
      await #expect(processExitsWith: .success) { [path = path as String] in
        let journal = WorkflowJournal(url: URL(fileURLWithPath: path))
        let other = Workflow(name: "other")
        let error = journalError { try other.resume(from: journal) }
        guard case .inUse? = error else { exit(EXIT_FAILURE) }
        exit(EXIT_SUCCESS)
      }
    }
  #endif

  @Test func `a result that a reset overtakes on its way is not written`() async throws {
    // The result is encoded while the task is reset and runs again.
    final class Gate: Sendable {
      static let (isInside, mayLeave) = (Event(), Event())
    }
    struct Slow: Codable, Sendable {
      let number: Int
      init(_ number: Int) { self.number = number }
      func encode(to encoder: any Encoder) throws {
        if number == 1 {
          Gate.isInside.signal()
          Gate.mayLeave.wait()
        }
        try number.encode(to: encoder)
      }
      init(from decoder: any Decoder) throws { number = try Int(from: decoder) }
    }
    let runs = Counter()
    do {
      let workflow = Workflow(name: "slow")
      let task = BlockWorkflowTask<Slow>(name: "t") { $0.finish(with: Slow(runs.add())) }
        .journaled(as: "t")
      try workflow.add(task)
      try workflow.resume(from: scene.journal)
      workflow.start()
      #expect(await Gate.isInside.opened())
      task.reset()
      let future = workflow.start()
      #expect(await future.completion.successValue == .finished)
      #expect(task.result?.number == 2)
      Gate.mayLeave.signal()
      workflow.closeJournal()
    }
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    let task = try workflow.add(WorkflowTask<Slow>(name: "t").journaled(as: "t"))
    try workflow.resume(from: scene.journal)
    #expect(task.result?.number == 2)
  }
}
