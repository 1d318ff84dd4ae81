import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

/// A storage in memory.
private final class PlainStorage: WorkflowJournalStorage {
  let name = "plain"
  private let kept = TestLock<[String: WorkflowJournalRecord]>([:])

  var records: [String: WorkflowJournalRecord] { kept.withLock { $0 } }

  func open() -> [WorkflowJournalRecord] { Array(records.values) }

  func write(_ changes: [WorkflowJournalChange]) {
    kept.withLock { records in
      for change in changes {
        switch change {
        case .record(let record): records[record.identifier] = record
        case .forget(let identifier): records[identifier] = nil
        }
      }
    }
  }

  func close() {}
}

/// What a reading of the journal found, as programs.
@Suite("What a reading found in journals", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfJournalReadingTests {
  private let scene: JournalScene

  init() throws { scene = try JournalScene() }

  private func recorded(_ name: String, _ value: Int = 1) -> BlockWorkflowTask<Int> {
    BlockWorkflowTask<Int>(name: name) { $0.finish(with: value) }.journaled(as: name)
  }

  /// A task that makes a call when another workflow looks for workflows inside it.
  private final class Watched: WorkflowTask<Int>, @unchecked Sendable {
    let whenLookedAt = Box<(@Sendable () -> Void)?>(nil)

    override var nesting: Nesting? {
      let call = whenLookedAt.value
      whenLookedAt.value = nil
      call?()
      return nil
    }

    override func main(_ run: TaskWork<Int>) { run.finish(with: 1) }
  }

  @Test func `a task is added inside while the workflow around it is nested: it is recorded`()
    async throws
  {
    let (outer, inner, storage) = (inlineWorkflow("o"), inlineWorkflow("i"), PlainStorage())
    let watched = Watched(name: "watched")
    try inner.add(watched)
    try outer.resume(from: storage)
    let late = recorded("late")
    watched.whenLookedAt.value = { _ = try? inner.add(late) }
    try outer.add(SubworkflowTask(subworkflow: inner))
    #expect(inner.contains(late))
    #expect(try await outer.run() == .finished)
    #expect(storage.records.keys.sorted() == ["late"])
    outer.closeJournal()
  }

  // MARK: Closing

  /// A recorded task, and behind it many workflows with a recorded condition each.
  private func makeFan() throws -> (Workflow, [ExternalConditionTask<Int>]) {
    let outer = inlineWorkflow("outer")
    let first = try outer.add(recorded("first"))
    let conditions = try (0..<500).map { i in
      let inner = inlineWorkflow("inner \(i)")
      let condition = ExternalConditionTask<Int>(name: "\(i)", waitsForFulfillment: true)
      try inner.add(condition.journaled(as: "condition \(i)"))
      try outer.add(SubworkflowTask(subworkflow: inner), prerequisites: first)
      return condition
    }
    return (outer, conditions)
  }

  @Test func `a journal is closed while tasks inside finish: their records name the task around`()
    async throws
  {
    for _ in 0..<10 {
      let storage = PlainStorage()
      let (outer, conditions) = try makeFan()
      try outer.resume(from: storage)
      outer.start()
      // Asks none twice: each answer takes the lock that the workflows need to go on.
      var begun = 0
      #expect(
        await eventually {
          while begun < conditions.count, conditions[begun].isExecuting { begun += 1 }
          return begun == conditions.count
        })
      let (isInside, isOver) = (Event(), Event())
      Thread.detachNewThread {
        for (i, condition) in conditions.enumerated() {
          if i == 50 { isInside.signal() }
          condition.fulfill(with: i)
        }
        isOver.signal()
      }
      #expect(await isInside.opened())
      outer.closeJournal()
      #expect(await isOver.opened())
      let records = storage.records
      let first = try #require(records["first"])
      let wrongCount = records.values.count {
        $0.identifier != "first" && $0.prerequisites != ["first": first.number]
      }
      #expect(wrongCount == 0)
      let (again, _) = try makeFan()
      #expect(try again.resume(from: storage).restored.count == records.count)
      again.closeJournal()
    }
  }

  // MARK: The name of the new file

  @Test func `a journal is resumed beside another with its name and an ending: both stay`()
    async throws
  {
    let other = WorkflowJournal(url: URL(fileURLWithPath: scene.url.path + ".new"))
    let second = try RecordedChain()
    try second.workflow.resume(from: other)
    _ = try await second.workflow.run()
    // (The second one is open, then closed.)
    for _ in 0..<2 {
      let first = try RecordedChain()
      try first.workflow.resume(from: scene.journal)
      first.workflow.closeJournal()
      second.workflow.closeJournal()
    }
    let third = try RecordedChain()
    #expect(try third.workflow.resume(from: other).restored == ["a", "b", "c"])
  }

  /// The names of the files in the folder of the journal.
  private var names: [String] {
    get throws {
      let folder = scene.url.deletingLastPathComponent()
      return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }
  }

  private func temporaryFile(of url: URL) throws -> URL {
    try URL(fileURLWithPath: JournalFile.open(url, device: .hasty).temporaryPath)
  }

  enum Leftover: CaseIterable {
    case empty, zeros, half, whole

    var bytes: [UInt8] {
      let header = JournalFormat.header(JournalFormat.Header(salt: 7))
      return switch self {
      case .empty: []
      case .zeros: Array(repeating: 0, count: 1_000)
      case .half: Array(header.prefix(50))
      case .whole: header
      }
    }
  }

  @Test(arguments: Leftover.allCases)
  func `a process was killed while it wrote the file anew: the next one removes what is left`(
    _ leftover: Leftover
  ) throws {
    try Data(leftover.bytes).write(to: temporaryFile(of: scene.url))
    #expect(try names.count == 2)
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal)
    #expect(try names == ["run.journal"])
  }

  @Test func `another file has the name of the new one: an error names it, and it stays`() throws {
    let file = try temporaryFile(of: scene.url)
    try Data("precious\n".utf8).write(to: file)
    let chain = try RecordedChain()
    #expect(
      journalError { try chain.workflow.resume(from: scene.journal) }
        == .unusable(file, code: EEXIST))
    #expect(try String(contentsOf: file, encoding: .utf8) == "precious\n")
    try FileManager.default.removeItem(at: file)
    // (A link to a precious file is none that the library has made.)
    try Data("precious\n".utf8).write(to: scene.url.appendingPathExtension("text"))
    try FileManager.default.createSymbolicLink(
      at: file, withDestinationURL: scene.url.appendingPathExtension("text"))
    #expect(
      journalError { try chain.workflow.resume(from: scene.journal) }
        == .unusable(file, code: EEXIST))
    #expect(try names.count == 3)
  }

  @Test func `an open journal has the name of the new file: it stays, and can be resumed again`()
    async throws
  {
    let other = WorkflowJournal(url: try temporaryFile(of: scene.url))
    do {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: other)
      #expect(
        journalError { try RecordedChain().workflow.resume(from: scene.journal) }
          == .unusable(other.url, code: EEXIST))
      #expect(try await chain.workflow.run() == .finished)
    }
    let chain = try RecordedChain()
    #expect(try chain.workflow.resume(from: other).restored == ["a", "b", "c"])
  }

  @Test func `a journal whose name is as long as names can be: it is written anew`() async throws {
    let folder = scene.url.deletingLastPathComponent()
    let long = WorkflowJournal(
      url: folder.appendingPathComponent(String(repeating: "n", count: 255)))
    for _ in 0..<2 {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: long)
      #expect(try await chain.workflow.run() == .finished)
      chain.workflow.closeJournal()
      // (A torn file is written anew.)
      try (Data(contentsOf: long.url) + Data("{".utf8)).write(to: long.url)
    }
    let chain = try RecordedChain()
    #expect(try chain.workflow.resume(from: long).restored == ["a", "b", "c"])
    #expect(try names.count == 1)
  }

  @Test func `the disk is full while the file is written anew: the new file is removed`() throws {
    let device = FailingDevice()
    device.writeError.value = ENOSPC
    device.part.value = 10
    let chain = try RecordedChain()
    #expect(
      journalError { try chain.workflow.resume(from: scene.journal, device: device.device) }
        == .unusable(scene.url.resolvingSymlinksInPath(), code: ENOSPC))
    #expect(try names == ["run.journal"])
  }

  // MARK: Resuming

  /// A recorded task, and behind it a workflow with two recorded tasks.
  private struct Nest {
    let outer = inlineWorkflow("outer")
    let inner = inlineWorkflow("inner")
    let around: WorkflowTask<Int>
    let inside: [WorkflowTask<Int>]

    /// - Parameter fails: Whether the second task inside fails.
    init(fails: Bool = false) throws {
      func task(_ name: String) -> WorkflowTask<Int> {
        BlockWorkflowTask<Int>(name: name) { run in
          if fails, name == "y" { run.fail(with: TestError.first) } else { run.finish(with: 1) }
        }.journaled(as: name)
      }
      around = try outer.add(task("around"))
      inside = try [inner.add(task("x")), inner.add(task("y"))]
      try outer.add(SubworkflowTask(subworkflow: inner), prerequisites: around)
    }
  }

  /// Records the task around, and the first task inside.
  private func recordHalf(in journal: WorkflowJournal) async throws {
    let nest = try Nest(fails: true)
    try nest.outer.resume(from: journal, device: .hasty)
    _ = try await nest.outer.run()
    nest.outer.closeJournal()
  }

  @Test func `a restored task inside has a waiter: it finds the tasks around restored, too`()
    async throws
  {
    try await recordHalf(in: scene.journal)
    let nest = try Nest()
    defer { nest.outer.closeJournal() }
    let state = Box<WorkflowTaskState?>(nil)
    nest.inside[0].future.onSuccess(on: .inline) { _ in
      state.value = nest.around.state
      _ = try? nest.outer.add("more") { 3 }
    }
    #expect(try nest.outer.resume(from: scene.journal).restored == ["around", "x"])
    #expect(state.value == .finished && nest.outer.allTasks.count == 3)
  }

  @Test func `a waiter starts the workflow inside: the record names the task around`()
    async throws
  {
    try await recordHalf(in: scene.journal)
    let nest = try Nest()
    nest.inside[0].future.onSuccess(on: .inline) { _ in nest.inner.start() }
    try nest.outer.resume(from: scene.journal)
    #expect(await eventually { nest.inside[1].isFinished })
    nest.outer.closeJournal()
    let again = try Nest()
    defer { again.outer.closeJournal() }
    #expect(try again.outer.resume(from: scene.journal).restored == ["around", "x", "y"])
  }

  @Test func `a task is added while the file is written anew: an error, and nothing has changed`()
    async throws
  {
    try await recordHalf(in: scene.journal)
    // (A torn file is written anew.)
    try scene.write(scene.bytes + Array("{".utf8))
    let nest = try Nest()
    let device = JournalDevice(
      write: JournalDevice.system.write,
      sync: { _ in
        if nest.outer.allTasks.count == 2 { _ = try? nest.outer.add("more") { 3 } }
        return 0
      })
    #expect(
      journalError { try nest.outer.resume(from: scene.journal, device: device) }
        == .alreadyBegun(workflow: "outer"))
    #expect(nest.inside.allSatisfy { $0.state == .ready && $0.result == nil })
    let other = try Nest()
    #expect(try other.outer.resume(from: scene.journal).restored == ["around", "x"])
    other.outer.closeJournal()
    #expect(try nest.outer.resume(from: scene.journal).restored == ["around", "x"])
    nest.outer.closeJournal()
  }

  // MARK: The size of the file

  @Test func `nothing has changed: a file whose records name many tasks is not written anew`()
    async throws
  {
    func make() throws -> Workflow {
      let workflow = inlineWorkflow()
      let first = try (0..<100).map { try workflow.add(recorded("a\($0)")) }
      for i in 0..<100 { try workflow.add(recorded("b\(i)"), prerequisites: first) }
      return workflow
    }
    func number() throws -> Int? {
      let attributes = try FileManager.default.attributesOfItem(atPath: scene.url.path)
      return attributes[.systemFileNumber] as? Int
    }
    var seen: [Int?] = []
    for _ in 0..<3 {
      let workflow = try make()
      try workflow.resume(from: scene.journal, device: .hasty)
      seen.append(try number())
      #expect(try await workflow.run() == .finished)
      workflow.closeJournal()
    }
    #expect(seen[0] == seen[1] && seen[1] == seen[2])
  }
}
