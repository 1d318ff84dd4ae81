import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

/// A storage in memory that can fail, and that notes how it is used.
private final class MemoryStorage: WorkflowJournalStorage {
  struct Full: LocalizedError {
    var errorDescription: String? { "no room is left" }
  }

  struct InUse: LocalizedError {
    var errorDescription: String? { "another workflow uses it" }
  }

  private struct State {
    var records: [String: WorkflowJournalRecord] = [:]
    var isOpen = false
    var isFull = false
    var uses: [String] = []
  }

  let name = "memory"
  private let state = TestLock(State())
  private let beforeWrite: TestLock<@Sendable () -> Void> = TestLock({})

  var records: [String: WorkflowJournalRecord] { state.withLock { $0.records } }
  var isOpen: Bool { state.withLock { $0.isOpen } }
  /// The calls of `open` and `close`, and the changes.
  var uses: [String] { state.withLock { $0.uses } }

  func setFull(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }
  func remove(_ identifier: String) { state.withLock { $0.records[identifier] = nil } }
  func onWrite(_ body: @escaping @Sendable () -> Void) { beforeWrite.withLock { $0 = body } }

  func open() throws -> [WorkflowJournalRecord] {
    try state.withLock { state in
      if state.isOpen { throw InUse() }
      state.isOpen = true
      state.uses.append("open")
      return state.records.values.shuffled()
    }
  }

  func write(_ changes: [WorkflowJournalChange]) throws {
    beforeWrite.withLock { $0 }()
    try state.withLock { state in
      if state.isFull { throw Full() }
      for change in changes {
        switch change {
        case .record(let record):
          let highest = state.records.values.map(\.number).max() ?? 0
          state.uses.append(record.number > highest ? record.identifier : "a number again")
          state.records[record.identifier] = record
        case .forget(let identifier):
          state.uses.append("-\(identifier)")
          state.records[identifier] = nil
        }
      }
    }
  }

  func close() {
    state.withLock { state in
      state.uses.append(state.isOpen ? "close" : "close again")
      state.isOpen = false
    }
  }
}

/// Keeps a workflow until it is told to release it.
private final class Kept: Sendable {
  let workflow = TestLock<Workflow?>(nil)

  func release() {
    let last = workflow.withLock { $0.take() }
    withExtendedLifetime(last) {}
  }
}

@Suite("A journal in a storage of the user", .timeLimit(.minutes(5)), .oneAtATime)
struct JournalStorageTests {
  private let storage = MemoryStorage()

  @Test func `a run that ends in the middle goes on from the storage`() async throws {
    do {
      let chain = try RecordedChain(failing: "c")
      let resumption = try chain.workflow.resume(from: storage)
      #expect(resumption == WorkflowResumption())
      _ = try await chain.workflow.run()
      #expect(chain.states == [.finished, .finished, .failed])
    }
    #expect(storage.uses == ["open", "a", "b", "close"])
    let record = try #require(storage.records["b"])
    let first = try #require(storage.records["a"])
    #expect(record.version == 1 && record.prerequisites == ["a": first.number])
    #expect(record.number > first.number && record.date.timeIntervalSinceNow < 1)
    #expect(String(decoding: record.data, as: UTF8.self) == #"{"result":2}"#)

    let chain = try RecordedChain([7, 8, 9])
    #expect(try chain.workflow.resume(from: storage).restored == ["a", "b"])
    #expect(chain.states == [.finished, .finished, .ready])
    #expect(try await chain.workflow.run() == .finished)
    #expect(chain.results == [1, 2, 9] && chain.runs.entries == ["c"])
    #expect(storage.records.keys.sorted() == ["a", "b", "c"])
  }

  @Test func `dependents begin when the write has returned`() async throws {
    let (writes, mayWrite) = (Event(), Event())
    storage.onWrite {
      writes.signal()
      mayWrite.wait()
    }
    let chain = try RecordedChain()
    try chain.workflow.resume(from: storage)
    let outcome = chain.workflow.start()
    #expect(await writes.opened())
    #expect(chain.states == [.executing, .pending, .pending] && chain.runs.entries == ["a"])
    mayWrite.signal()
    #expect(try await outcome.value == .finished)
  }

  @Test func `a reset forgets the record and those of the dependents before they run again`()
    async throws
  {
    let chain = try RecordedChain()
    try chain.workflow.resume(from: storage)
    _ = try await chain.workflow.run()
    chain.tasks[1].reset()
    #expect(await eventually { storage.records.count == 1 })
    #expect(try await chain.workflow.run() == .finished)
    #expect(
      storage.uses.prefix(4) == ["open", "a", "b", "c"] && storage.records.count == 3
        && Set(storage.uses[4...5]) == ["-b", "-c"] && storage.uses[6...] == ["b", "c"])
  }

  @Test func `a write that throws fails the task; with room again, a retry records it`()
    async throws
  {
    let chain = try RecordedChain()
    try chain.workflow.resume(from: storage)
    storage.setFull(true)
    let outcome = try await chain.workflow.run()
    #expect(chain.states == [.failed, .pending, .pending])
    let error = WorkflowJournalError.cannotRecord(
      "a", storage: "memory", reason: "no room is left")
    #expect(chain.tasks[0].error as? WorkflowJournalError == error)
    #expect("\(outcome)".contains("cannot be recorded in \"memory\": no room is left."))
    storage.setFull(false)
    #expect(await chain.workflow.retry().completion.successValue == .finished)
    #expect(storage.records.count == 3)
  }

  @Test func `a forgetting that cannot be written comes again with the next change`()
    async throws
  {
    let chain = try RecordedChain()
    try chain.workflow.resume(from: storage)
    _ = try await chain.workflow.run()
    storage.setFull(true)
    chain.tasks[2].reset()
    _ = try await chain.workflow.run()
    #expect(chain.states == [.finished, .finished, .failed])
    storage.setFull(false)
    #expect(await chain.workflow.retry().completion.successValue == .finished)
    #expect(storage.uses.suffix(2) == ["-c", "c"])
  }

  @Test(arguments: [false, true])
  func `a forgetting that could not be written comes again before the storage is closed`(
    isClosed: Bool
  ) async throws {
    do {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: storage)
      _ = try await chain.workflow.run()
      storage.setFull(true)
      chain.tasks[2].reset()
      _ = try await chain.workflow.run()
      #expect(chain.states == [.finished, .finished, .failed])
      storage.setFull(false)
      if isClosed { chain.workflow.closeJournal() }
    }
    #expect(await eventually { storage.uses.last == "close" })
    #expect(storage.uses.suffix(2) == ["-c", "close"])
    let chain = try RecordedChain()
    #expect(try chain.workflow.resume(from: storage).restored == ["a", "b"])
  }

  @Test func `a record that cannot be removed: its task fails, and does not run before it is`()
    async throws
  {
    let chain = try RecordedChain()
    try chain.workflow.resume(from: storage)
    _ = try await chain.workflow.run()
    storage.setFull(true)
    let error = WorkflowJournalError.cannotRecord(
      "a", storage: "memory", reason: "no room is left")
    for round in 0..<4 {
      if round % 2 == 0 { chain.tasks[0].reset() }
      // (A retry tries to remove the record again.)
      let end = round % 2 == 0 ? chain.workflow.start() : chain.workflow.retry()
      #expect(await end.completion.successValue?.isFinished == false)
      #expect(chain.tasks[0].error as? WorkflowJournalError == error)
      #expect(chain.states == [.failed, .pending, .pending])
    }
    #expect(chain.runs.entries == ["a", "b", "c"] && storage.records["a"]?.number == 1)
    storage.setFull(false)
    #expect(await chain.workflow.retry().completion.successValue == .finished)
    #expect(chain.runs.entries == ["a", "b", "c", "a", "b", "c"])
    let uses = storage.uses.suffix(6)
    #expect(Set(uses.prefix(3)) == ["-a", "-b", "-c"] && uses.suffix(3) == ["a", "b", "c"])
  }

  @Test func `a record that cannot be removed, and the journal is closed: the task runs`()
    async throws
  {
    let chain = try RecordedChain()
    try chain.workflow.resume(from: storage)
    _ = try await chain.workflow.run()
    storage.setFull(true)
    chain.tasks[2].reset()
    chain.workflow.closeJournal()
    #expect(try await chain.workflow.run() == .finished)
    #expect(chain.runs.entries == ["a", "b", "c", "c"])
  }

  @Test func `an add that throws gives its journal to no workflow`() async throws {
    func make(_ name: String) throws -> (Workflow, AnyWorkflowTask) {
      let inner = inlineWorkflow(name)
      try inner.add(counting("x", result: 1)).journaled(as: "x")
      return (inner, SubworkflowTask(name: "sub", subworkflow: inner))
    }
    let (plain, journaled) = (inlineWorkflow("plain"), inlineWorkflow("journaled"))
    let foreign = try plain.add(counting("foreign"))
    try journaled.resume(from: storage)
    let (_, taken) = try make("taken")
    try plain.add(taken)
    #expect(throws: WorkflowError.self) { try journaled.add(taken) }
    let (inner, other) = try make("inner")
    #expect(throws: WorkflowError.self) { try journaled.add(other, prerequisites: foreign) }
    #expect(try await plain.run() == .finished)
    #expect(storage.records.isEmpty)
    // The other one can still use a journal of its own, and that of a workflow around it.
    let own = MemoryStorage()
    try inner.resume(from: own)
    #expect(try await inner.run() == .finished && own.records.keys.sorted() == ["x"])
    let (_, shared) = try make("shared")
    try journaled.add(shared)
    #expect(try await journaled.run() == .finished)
    #expect(storage.records.keys.sorted() == ["x"])
  }

  @Test func `a storage that cannot be opened: an error with its reason, and nothing changes`()
    throws
  {
    let first = try RecordedChain()
    try first.workflow.resume(from: storage)
    let second = try RecordedChain()
    #expect(
      journalError { try second.workflow.resume(from: storage) }
        == .unusableStorage("memory", reason: "another workflow uses it"))
    #expect(storage.uses == ["open"])
    first.workflow.closeJournal()
    try second.workflow.resume(from: storage)
    #expect(
      journalError { try second.workflow.resume(from: storage) } == .alreadyBegun(workflow: "chain")
    )
    #expect(storage.uses == ["open", "close", "open"])
  }

  @Test func `records that do not fit: the storage stays as it is, or the tasks run again`()
    async throws
  {
    do {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: storage)
      _ = try await chain.workflow.run()
    }
    let records = storage.records
    let chain = try RecordedChain([7, 8, 9], version: 2)
    let error = journalError { try chain.workflow.resume(from: storage) }
    guard case .mismatch(let resumption) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(resumption.changed.map(\.identifier) == ["a", "b", "c"])
    #expect(storage.records == records && !storage.isOpen)

    storage.setFull(true)
    #expect(
      journalError { try chain.workflow.resume(from: storage, onMismatch: .runAgain) }
        == .unusableStorage("memory", reason: "no room is left"))
    #expect(!storage.isOpen && chain.states == [.ready, .pending, .pending])
    storage.setFull(false)
    #expect(try chain.workflow.resume(from: storage, onMismatch: .runAgain).restored.isEmpty)
    #expect(storage.records.isEmpty)
    #expect(try await chain.workflow.run() == .finished)
    #expect(chain.results == [7, 8, 9])
  }

  @Test func `a record that the storage has lost: its task and the dependents run again`()
    async throws
  {
    do {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: storage)
      _ = try await chain.workflow.run()
    }
    storage.remove("b")
    let chain = try RecordedChain([7, 8, 9])
    let resumption = try chain.workflow.resume(from: storage)
    #expect(resumption.restored == ["a"] && resumption.forgotten == ["c"])
    #expect(try await chain.workflow.run() == .finished)
    #expect(chain.results == [1, 8, 9] && !storage.uses.contains("a number again"))
  }

  @Test(arguments: [Int.max, .min, -1, 0])
  func `any number of a record is taken, and another task is recorded`(number: Int) async throws {
    let data = Data(#"{"result":1}"#.utf8)
    try storage.write([
      .record(
        WorkflowJournalRecord(
          identifier: "a", version: 1, number: number, date: .distantFuture, prerequisites: [:],
          data: data))
    ])
    let chain = try RecordedChain()
    #expect(try chain.workflow.resume(from: storage).restored == ["a"])
    #expect(try await chain.workflow.run() == .finished)
    #expect(chain.runs.entries == ["b", "c"] && storage.records.count == 3)
  }

  @Test
  func `records that no task could have written: nothing is restored, and the fault is named`()
    throws
  {
    func record(_ task: String, after: [String: Int] = [:], _ json: String) -> WorkflowJournalChange
    {
      .record(
        WorkflowJournalRecord(
          identifier: task, version: 1, number: 1, date: .distantPast, prerequisites: after,
          data: Data(json.utf8)))
    }
    try storage.write([
      record("a", "no JSON"), record("b", after: ["x": 1], #"{"result":2}"#),
      record("", #"{"result":3}"#),
    ])
    let chain = try RecordedChain()
    let found = try chain.workflow.resume(from: storage, onMismatch: .runAgain)
    #expect(found.restored.isEmpty && found.unknown == [""])
    #expect(found.changed.map(\.identifier) == ["a", "b"] && storage.records.isEmpty)
  }

  @Test func `tasks of a workflow inside are recorded in the same storage`() async throws {
    func make() throws -> (outer: Workflow, inner: BlockWorkflowTask<Int>) {
      let (inner, outer) = (inlineWorkflow("inner"), inlineWorkflow("outer"))
      let task = try inner.add(counting("in", result: 4)).journaled(as: "in")
      try outer.add(SubworkflowTask(name: "sub", subworkflow: inner))
      return (outer, task)
    }
    do {
      let (outer, _) = try make()
      try outer.resume(from: storage)
      _ = try await outer.run()
      outer.closeJournal()
    }
    let (outer, inner) = try make()
    try outer.resume(from: storage)
    #expect(inner.result == 4)
    outer.closeJournal()
    #expect(storage.uses == ["open", "in", "close", "open", "close"])
  }

  /// A recorded task, then a subworkflow that is not recorded with two recorded tasks, then a
  /// recorded task.
  ///
  /// The subworkflow also waits for a task that is not recorded.
  private func makeNest(_ value: Int, failing: String? = nil, connects: Bool = true) throws
    -> (outer: Workflow, tasks: [BlockWorkflowTask<Int>])
  {
    let (inner, outer) = (inlineWorkflow("inner"), inlineWorkflow("outer"))
    let last = Box(value)
    let tasks = ["a", "x", "y", "z"].map { name in
      BlockWorkflowTask<Int>(name: name) { run in
        if name == failing {
          run.fail(with: TestError.first)
        } else {
          run.finish(with: last.value)
        }
      }.journaled(as: name)
    }
    try outer.add(tasks[0])
    try inner.add(tasks[1])
    try inner.add(tasks[2], prerequisites: tasks[1])
    let connect = try outer.add(counting("connect"))
    let nest = SubworkflowTask(name: "nest", subworkflow: inner)
    try outer.add(nest, prerequisites: connects ? [tasks[0], connect] : [tasks[0]])
    try outer.add(tasks[3], prerequisites: nest)
    return (outer, tasks)
  }

  @Test(arguments: [false, true], [false, true])
  func `a reset in front of a workflow inside reaches it, although it waits for another task`(
    connects: Bool, isOfAll: Bool
  ) async throws {
    do {
      let (outer, _) = try makeNest(100, failing: "y", connects: connects)
      try outer.resume(from: storage)
      _ = try await outer.run()
      outer.closeJournal()
    }
    let (outer, tasks) = try makeNest(200, connects: connects)
    #expect(try outer.resume(from: storage).restored == ["a", "x"])
    if isOfAll { outer.reset() } else { tasks[0].reset() }
    #expect(tasks.allSatisfy { $0.result == nil })
    #expect(try await outer.run() == .finished)
    #expect(tasks.map(\.result) == [200, 200, 200, 200])
    outer.closeJournal()
    let (again, restored) = try makeNest(300, connects: connects)
    try again.resume(from: storage)
    #expect(restored.map(\.result) == [200, 200, 200, 200])
    again.closeJournal()
  }

  @Test(arguments: [false, true])
  func `a reset inside reaches the restored dependents of the task around, before it has run`(
    connects: Bool
  ) async throws {
    do {
      let (outer, _) = try makeNest(100, connects: connects)
      try outer.resume(from: storage)
      _ = try await outer.run()
      outer.closeJournal()
    }
    let (outer, tasks) = try makeNest(200, connects: connects)
    #expect(try outer.resume(from: storage).restored == ["a", "x", "y", "z"])
    tasks[1].reset()
    #expect(tasks.map(\.result) == [100, nil, nil, nil])
    #expect(try await outer.run() == .finished)
    #expect(tasks.map(\.result) == [100, 200, 200, 200])
    #expect(storage.records.count == 4)
    outer.closeJournal()
  }

  /// A recorded task in a workflow in a workflow, and a recorded task behind both.
  private func makeDeepNest(_ value: Int) throws
    -> (outer: Workflow, tasks: [BlockWorkflowTask<Int>])
  {
    let (outer, middle, inner) = (
      inlineWorkflow("outer"), inlineWorkflow("middle"), inlineWorkflow("inner")
    )
    let tasks = ["t", "d"].map { name in counting(name, result: value).journaled(as: name) }
    try inner.add(tasks[0])
    try middle.add(SubworkflowTask(subworkflow: inner))
    let around = try outer.add(SubworkflowTask(subworkflow: middle))
    try outer.add(tasks[1], prerequisites: around)
    return (outer, tasks)
  }

  @Test func `a reset in a workflow in a workflow reaches a restored task behind both`()
    async throws
  {
    do {
      let (outer, _) = try makeDeepNest(100)
      try outer.resume(from: storage)
      _ = try await outer.run()
      outer.closeJournal()
    }
    let (outer, tasks) = try makeDeepNest(200)
    #expect(try outer.resume(from: storage).restored == ["d", "t"])
    tasks[0].reset()
    #expect(tasks.map(\.result) == [nil, nil])
    #expect(try await outer.run() == .finished)
    #expect(tasks.map(\.result) == [200, 200])
    outer.closeJournal()
    let (again, _) = try makeDeepNest(300)
    #expect(try again.resume(from: storage).restored == ["d", "t"])
    again.closeJournal()
  }

  /// A workflow with a recorded task and one that is not, and a recorded task behind it.
  ///
  /// - Parameter around: How the task with that workflow is recorded, if it is.
  private func makeOpenNest(_ value: Int, around: String? = nil) throws
    -> (outer: Workflow, nest: SubworkflowTask<Int>, open: OpenTask, tasks: [WorkflowTask<Int>])
  {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let tasks: [WorkflowTask<Int>] = ["t", "d"].map { name in
      counting(name, result: value).journaled(as: name)
    }
    let open = OpenTask(name: "open")
    try inner.add(tasks[0])
    try inner.add(open)
    let nest = SubworkflowTask<Int>(name: "nest", subworkflow: inner) { _ in value }
    if let around { nest.journaled(as: around) }
    try outer.add(nest)
    try outer.add(tasks[1], prerequisites: nest)
    return (outer, nest, open, tasks)
  }

  private func recordOpenNest(around: String? = nil) async throws {
    let (outer, _, open, _) = try makeOpenNest(100, around: around)
    try outer.resume(from: storage)
    let outcome = outer.start()
    #expect(await eventually { open.isExecuting })
    open.finish(with: 1)
    #expect(try await outcome.value == .finished)
    outer.closeJournal()
  }

  @Test(arguments: [false, true])
  func `a task around has failed or was cancelled: a reset inside reaches what is restored behind`(
    isCancelled: Bool
  ) async throws {
    try await recordOpenNest()
    let (outer, nest, open, tasks) = try makeOpenNest(200)
    #expect(try outer.resume(from: storage).restored == ["d", "t"])
    outer.start()
    if isCancelled { nest.cancel() } else { open.fail(with: TestError.first) }
    #expect(nest.state == (isCancelled ? .cancelled : .failed))
    #expect(tasks.map(\.result) == [100, 100])
    tasks[0].reset()
    #expect(tasks.map(\.result) == [nil, nil])
    let outcome = outer.retry()
    #expect(await eventually { open.isExecuting })
    open.finish(with: 1)
    #expect(try await outcome.value == .finished)
    #expect(tasks.map(\.result) == [200, 200])
    outer.closeJournal()
  }

  @Test
  func `a task around has failed: clean-up behind a workflow that waits in vain goes on`()
    async throws
  {
    let (outer, _, open, tasks) = try makeOpenNest(200)
    let nest = try #require(outer.allTasks.first { $0.name == "nest" })
    let behind = inlineWorkflow("behind")
    try behind.add(counting("inside", result: 1))
    let waiting = SubworkflowTask<Int>(name: "waiting", subworkflow: behind) { _ in 1 }
    try outer.add(waiting, prerequisites: nest)
    let cleanUp = OpenTask(name: "clean up")
    try outer.add(cleanUp, prerequisites: [waiting], when: .whenAllDone)
    try outer.resume(from: storage)
    let outcome = outer.start()
    open.fail(with: TestError.first)
    #expect(await eventually { cleanUp.isExecuting })
    tasks[0].reset()
    #expect(cleanUp.isExecuting)
    cleanUp.finish(with: 1)
    _ = try await outcome.value
    #expect(cleanUp.isFinished)
    outer.closeJournal()
  }

  @Test(arguments: [false, true])
  func `a task around executes: a reset inside leaves its cancelled dependent and clean-up alone`(
    restores: Bool
  ) async throws {
    func make() throws -> (outer: Workflow, tasks: [WorkflowTask<Int>], cleanUp: OpenTask) {
      let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
      let beside = try outer.add(counting("beside").journaled(as: "beside"))
      let a = try inner.add(counting("a"))
      let open = try inner.add(OpenTask(name: "open"), prerequisites: a)
      let nest = try outer.add(SubworkflowTask<Int>(subworkflow: inner) { _ in 1 })
      let behind = try outer.add(counting("behind"), prerequisites: nest)
      let cleanUp = OpenTask(name: "clean up")
      try outer.add(cleanUp, prerequisites: [behind], when: .whenAllDone)
      return (outer, [beside, a, open, nest, behind], cleanUp)
    }
    if restores {
      let (outer, tasks, _) = try make()
      try outer.resume(from: storage)
      _ = try await outer.run(only: tasks[0])
      outer.closeJournal()
    }
    let (outer, tasks, cleanUp) = try make()
    #expect(try outer.resume(from: storage).restored == (restores ? ["beside"] : []))
    outer.start()
    tasks[4].cancel()
    #expect(tasks[2].isExecuting && cleanUp.isExecuting)
    tasks[1].reset()
    #expect(tasks[1].isReady && tasks[2].state == .pending && tasks[3].isExecuting)
    #expect(tasks[4].isCancelled && cleanUp.isExecuting)
    outer.closeJournal()
  }

  @Test func `a journal is closed: a workflow inside one with a closed journal does not record`()
    async throws
  {
    let (outer, middle, inner) = (
      inlineWorkflow("outer"), inlineWorkflow("middle"), inlineWorkflow("inner")
    )
    try middle.resume(from: MemoryStorage())
    middle.closeJournal()
    try inner.add(counting("x").journaled(as: "x"))
    try middle.add(SubworkflowTask(subworkflow: inner))
    try outer.resume(from: storage)
    try outer.add(SubworkflowTask(subworkflow: middle))
    outer.closeJournal()
    #expect(try await outer.run() == .finished)
    #expect(storage.uses == ["open", "close"])
  }

  @Test func `a task inside that has no result is reset: what is restored behind runs again`()
    async throws
  {
    try await recordOpenNest()
    let (outer, _, open, tasks) = try makeOpenNest(200)
    #expect(try outer.resume(from: storage).restored == ["d", "t"])
    open.reset()
    #expect(tasks.map(\.result) == [100, nil])
    outer.closeJournal()
  }

  @Test func `recorded tasks run and are reset: what is restored is still reset from inside`()
    async throws
  {
    try await recordOpenNest()
    let (outer, _, open, tasks) = try makeOpenNest(200)
    let beside = try outer.add(counting("beside").journaled(as: "beside"))
    #expect(try outer.resume(from: storage).restored == ["d", "t"])
    for _ in 0..<2 {
      _ = try await outer.run(only: beside)
      beside.reset()
    }
    open.reset()
    #expect(tasks.map(\.result) == [100, nil])
    outer.closeJournal()
  }

  @Test func `a task inside that has no result is reset: a restored task around stays finished`()
    async throws
  {
    try await recordOpenNest(around: "nest")
    let (outer, nest, open, tasks) = try makeOpenNest(200, around: "nest")
    #expect(try outer.resume(from: storage).restored == ["d", "nest", "t"])
    open.reset()
    #expect(nest.result == 100 && tasks.map(\.result) == [100, 100])
    tasks[0].reset()
    #expect(nest.result == nil && tasks.map(\.result) == [nil, nil])
    outer.closeJournal()
  }

  @Test func `a retry in front of clean-up leaves a restored task behind it finished`()
    async throws
  {
    func make(
      _ mails: Counter, failures: Int
    ) throws -> (Workflow, AnyWorkflowTask, WorkflowTask<Int>) {
      let workflow = inlineWorkflow()
      let a = try workflow.add(failing("a", times: failures))
      let cleanUp = counting("clean-up")
      try workflow.add(cleanUp, prerequisites: [a], when: .whenAllDone)
      let mail = try workflow.add(counting("mail", mails), prerequisites: cleanUp)
      return (workflow, a, mail.journaled(as: "mail"))
    }
    let mails = Counter()
    do {
      let (workflow, _, _) = try make(mails, failures: 0)
      try workflow.resume(from: storage)
      #expect(try await workflow.run() == .finished)
      workflow.closeJournal()
    }
    let (workflow, a, mail) = try make(mails, failures: 1)
    #expect(try workflow.resume(from: storage).restored == ["mail"])
    #expect(try await !workflow.run().isFinished)
    a.retry()
    #expect(a.isFinished && mail.isFinished && !workflow.hasUnfinishedTasks)
    #expect(mails.value == 1 && storage.records["mail"] != nil)
    workflow.closeJournal()
  }

  @Test func `a retry inside, in front of clean-up, leaves a restored task outside finished`()
    async throws
  {
    func make(failures: Int) throws -> (Workflow, AnyWorkflowTask, WorkflowTask<Int>) {
      let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
      let a = try inner.add(failing("a", times: failures))
      let cleanUp = counting("clean-up")
      try inner.add(cleanUp, prerequisites: [a], when: .whenAllDone)
      let nest = try outer.add(SubworkflowTask(subworkflow: inner))
      let mail = try outer.add(counting("mail"), prerequisites: nest)
      return (outer, a, mail.journaled(as: "mail"))
    }
    do {
      let (outer, _, _) = try make(failures: 0)
      try outer.resume(from: storage)
      #expect(try await outer.run() == .finished)
      outer.closeJournal()
    }
    let (outer, a, mail) = try make(failures: 1)
    #expect(try outer.resume(from: storage).restored == ["mail"])
    #expect(try await !outer.run().isFinished)
    a.retry()
    #expect(a.isFinished && mail.isFinished && !outer.hasUnfinishedTasks)
    #expect(storage.uses == ["open", "mail", "close", "open"])
    outer.closeJournal()
  }

  @Test func `a task is cancelled while its record is removed in vain: a retry tries again`()
    async throws
  {
    let chain = try RecordedChain()
    let (workflow, last) = (chain.workflow, chain.tasks[2])
    try workflow.resume(from: storage)
    #expect(try await workflow.run() == .finished)
    func isHeld() -> Bool { workflow.core.read { !$0.untoldHooks.isEmpty } }
    storage.setFull(true)
    last.reset()
    #expect(await eventually { !isHeld() })
    let (writes, mayWrite) = (Event(), Event())
    storage.onWrite {
      writes.signal()
      mayWrite.wait()
    }
    last.start()
    #expect(await writes.opened())
    last.cancel()
    mayWrite.signal()
    #expect(await eventually { !isHeld() })
    storage.setFull(false)
    #expect(await workflow.retry().completion.successValue == .finished)
    #expect(chain.runs.entries == ["a", "b", "c", "c"])
  }

  @Test func `a handler of a restored task finds the restored tasks counted in the progress`()
    async throws
  {
    do {
      let chain = try RecordedChain(failing: "c")
      try chain.workflow.resume(from: storage)
      _ = try await chain.workflow.run()
    }
    let chain = try RecordedChain()
    let (workflow, seen) = (chain.workflow, Box<Int64>(-1))
    _ = workflow.progress
    chain.tasks[0].future.onSuccess(on: .inline) { [unowned workflow] _ in
      seen.value = workflow.progress.completedUnitCount
    }
    try workflow.resume(from: storage)
    #expect(seen.value == 2)
  }

  @Test func `the last reference to the workflow goes inside a write: the storage is closed`()
    async throws
  {
    let (kept, mayRelease) = (Kept(), Event())
    let workflow = inlineWorkflow()
    let isGone = { [weak workflow] in workflow == nil }
    let task = try workflow.add(counting("t")).journaled(as: "t")
    try workflow.resume(from: storage)
    #expect(try await workflow.run() == .finished)
    kept.workflow.withLock { $0 = workflow }
    storage.onWrite {
      mayRelease.wait()
      kept.release()
    }
    // An executing task would keep the workflow; one that is reset does not.
    task.reset()
    _ = consume workflow
    mayRelease.signal()
    #expect(await eventually { isGone() && !storage.isOpen })
    #expect(storage.uses == ["open", "t", "-t", "close"])
  }

  @Test func `a storage writes on a queue of its own, and closes its journal there: it is closed`()
    async throws
  {
    let (chain, queue) = (try RecordedChain(), DispatchQueue(label: "storage"))
    let workflow = chain.workflow
    try workflow.resume(from: storage)
    storage.onWrite { [unowned workflow] in queue.sync { workflow.closeJournal() } }
    workflow.start()
    #expect(await eventually { !storage.isOpen })
    #expect(storage.uses == ["open", "a", "close"])
  }
}
