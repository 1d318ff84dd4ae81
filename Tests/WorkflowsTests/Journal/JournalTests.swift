import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

@Suite("A run that is recorded", .timeLimit(.minutes(5)), .oneAtATime)
struct JournalTests {
  private let scene: JournalScene
  init() throws { scene = try JournalScene() }

  // MARK: Resuming

  @Test func `a file that does not exist is made, and nothing is restored`() async throws {
    let chain = try RecordedChain()
    let resumption = try chain.workflow.resume(from: scene.journal)
    #expect(resumption == WorkflowResumption())
    #expect(try await chain.workflow.run() == .finished)
    #expect(chain.runs.entries == ["a", "b", "c"])
    #expect(try scene.recordCount == 3)
  }

  @Test func `a run that has finished: all tasks are finished, and nothing runs`() async throws {
    do {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: scene.journal)
      _ = try await chain.workflow.run()
    }
    let chain = try RecordedChain([7, 8, 9])
    let resumption = try chain.workflow.resume(from: scene.journal)
    #expect(resumption.restored == ["a", "b", "c"])
    #expect(chain.results == [1, 2, 3])
    #expect(!chain.workflow.hasUnfinishedTasks)
    #expect(try await chain.workflow.run() == .finished)
    #expect(chain.runs.entries == [])
  }

  @Test func `a run that ended half-way: what has finished stays, the rest runs`() async throws {
    let date: Date?
    do {
      let chain = try RecordedChain(failing: "b")
      try chain.workflow.resume(from: scene.journal)
      _ = try await chain.workflow.run()
      #expect(chain.states == [.finished, .failed, .pending])
      date = chain.tasks[0].finishDate
    }
    let chain = try RecordedChain()
    let resumption = try chain.workflow.resume(from: scene.journal)
    #expect(resumption.restored == ["a"])
    #expect(chain.states == [.finished, .ready, .pending])
    let restored = try #require(chain.tasks[0].finishDate)
    #expect(abs(restored.timeIntervalSince(try #require(date))) < 1)
    #expect(try await chain.workflow.run() == .finished)
    #expect(chain.runs.entries == ["b", "c"])
    #expect(chain.results == [1, 2, 3])
  }

  @Test func `results of many types come back as they were`() async throws {
    struct Nested: Codable, Sendable, Equatable {
      var names: [String: [Int?]]
      var date: Date
      var bytes: Data
    }
    let nested = Nested(
      names: ["\"\n\u{1}{\"sum\":\"": [1, nil], "é👍": []], date: Date(), bytes: Data([0, 10, 255]))
    func make() throws -> (Workflow, [AnyWorkflowTask]) {
      let workflow = inlineWorkflow()
      func task<Output: Codable & Sendable>(_ name: String, _ value: Output) -> AnyWorkflowTask {
        BlockWorkflowTask<Output>(name: name) { $0.finish(with: value) }.journaled(as: name)
      }
      let tasks: [AnyWorkflowTask] = [
        task("nested", nested), task("nil", String?.none), task("some", Int?.some(3)),
        task("double", 0.1 + 0.2), task("infinite", -Double.infinity), task("nan", Double.nan),
        task("string", "\u{2028}\\/"), task("list", [Int]()), task("uint", UInt64.max),
        BlockWorkflowTask<Void>(name: "void") { $0.finish() }.journaled(as: "void"),
      ]
      for task in tasks { try workflow.add(task) }
      return (workflow, tasks)
    }
    let (first, made) = try make()
    try first.resume(from: scene.journal)
    _ = try await first.run()
    first.closeJournal()
    let (second, tasks) = try make()
    defer { second.closeJournal() }
    #expect(try second.resume(from: scene.journal).restored.count == tasks.count)
    #expect((tasks[0] as? WorkflowTask<Nested>)?.result == nested)
    for (task, before) in zip(tasks, made).dropFirst() {
      #expect("\(String(describing: task.anyResult))" == "\(String(describing: before.anyResult))")
    }
  }

  @Test func `a recorded task behind one that is not stays finished when that runs again`()
    async throws
  {
    func make(_ runs: Counter) throws -> (Workflow, AnyWorkflowTask, AnyWorkflowTask) {
      let workflow = inlineWorkflow()
      let plain = try workflow.add(counting("plain", runs))
      let recorded = counting("recorded").journaled(as: "recorded")
      try workflow.add(recorded, prerequisites: plain)
      let last = try workflow.add(counting("last", runs), prerequisites: recorded)
      return (workflow, recorded, last)
    }
    let (first, _, _) = try make(Counter())
    try first.resume(from: scene.journal)
    _ = try await first.run()
    first.closeJournal()
    let runs = Counter()
    let (second, recorded, last) = try make(runs)
    defer { second.closeJournal() }
    try second.resume(from: scene.journal)
    #expect(recorded.state == .finished && last.state == .ready)
    #expect(try await second.run() == .finished)
    #expect(runs.value == 2)
  }

  @Test func `progress and hooks: what is restored counts, and nothing is told of it`()
    async throws
  {
    do {
      let chain = try RecordedChain(failing: "c")
      try chain.workflow.resume(from: scene.journal)
      _ = try await chain.workflow.run()
    }
    let chain = try RecordedChain()
    let listener = Listener()
    chain.tasks[0].delegate = listener
    let progress = chain.workflow.progress
    try chain.workflow.resume(from: scene.journal)
    #expect(progress.completedUnitCount == 2 && progress.totalUnitCount == 3)
    _ = try await chain.workflow.run()
    #expect(listener.log.entries == [])
    #expect(progress.completedUnitCount == 3)
  }

  // MARK: Before the dependents

  @Test func `a dependent begins when the result is on the disk, and not before`() async throws {
    let (device, ended) = (GatedDevice(isOpen: true), Event())
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal, device: device.device)
    let isOver = Box<Bool?>(nil)
    let first = BlockWorkflowTask<Int>(name: "first") { run in
      run.finish(with: 1)
      isOver.value = run.isCancelled
      ended.signal()
    }.journaled(as: "first")
    let last = counting("last")
    try chain.workflow.add(first)
    try chain.workflow.add(last, prerequisites: first)
    device.shut()
    let arrivals = device.arrivals.value
    first.start()
    #expect(await ended.opened())
    #expect(isOver.value == true, "the run has ended")
    #expect(await eventually { device.arrivals.value > arrivals })
    #expect(first.state == .executing && first.isExecuting && first.result == nil)
    #expect(last.state == .pending)
    #expect(!first.finish(with: 2) && !first.fail(with: TestError.first), "the work is over")
    device.open()
    #expect(await eventually { last.isFinished })
    #expect(first.result == 1)
  }

  @Test func `a task whose result is being written leaves its room to others`() async throws {
    let device = GatedDevice(isOpen: true)
    let workflow = inlineWorkflow()
    workflow.maxConcurrentTaskCount = 1
    let first = try workflow.add(counting("first").journaled(as: "first"))
    let other = try workflow.add(counting("other"))
    defer { workflow.closeJournal() }
    try workflow.resume(from: scene.journal, device: device.device)
    device.shut()
    defer { device.open() }
    workflow.start()
    #expect(await eventually { other.isFinished })
    #expect(first.state == .executing)
  }

  @Test func `200 tasks that finish at once need no more than three syncs`() async throws {
    let device = GatedDevice(isOpen: true)
    let workflow = inlineWorkflow()
    let tasks = (0..<200).map { OpenTask(name: "\($0)").journaled(as: "task \($0)") }
    for task in tasks { try workflow.add(task) }
    defer { workflow.closeJournal() }
    try workflow.resume(from: scene.journal, device: device.device)
    let future = workflow.start()
    let before = device.syncs.value
    device.shut()
    for (i, task) in tasks.enumerated() { #expect(task.finish(with: i)) }
    device.open()
    #expect(await future.completion.successValue == .finished)
    #expect(device.syncs.value - before <= 3)
    #expect(tasks.enumerated().allSatisfy { $0.offset == $0.element.result })
  }

  #if os(Linux) || os(macOS)
    @Test func `results are recorded while every thread of the shared pool is blocked`() async {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          let never = DispatchSemaphore(value: 0)
          for _ in 0..<1_000 { DispatchQueue.global().async { never.wait() } }
          guard let scene = try? JournalScene(), let chain = try? RecordedChain() else {
            return false
          }
          _ = try? chain.workflow.resume(from: scene.journal)
          chain.workflow.start()
          return eventuallyBlocking { !chain.workflow.hasUnfinishedTasks }
        }
      }
    }
  #endif

  // MARK: Forgetting

  @Test func `a reset forgets the task and those behind it`() async throws {
    do {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: scene.journal)
      _ = try await chain.workflow.run()
      chain.tasks[1].reset()
    }
    let chain = try RecordedChain([7, 8, 9])
    #expect(try chain.workflow.resume(from: scene.journal).restored == ["a"])
    _ = try await chain.workflow.run()
    #expect(chain.results == [1, 8, 9])
  }

  @Test func `a task that is reset does not run again before that is on the disk`() async throws {
    let device = GatedDevice(isOpen: true)
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal, device: device.device)
    _ = try await chain.workflow.run()
    device.shut()
    let arrivals = device.arrivals.value
    chain.workflow.reset()
    let future = chain.workflow.start()
    #expect(await eventually { device.arrivals.value > arrivals })
    #expect(chain.runs.count == 3)
    #expect(chain.tasks[0].state == .ready)
    device.open()
    #expect(await future.completion.successValue == .finished)
    #expect(chain.runs.count == 6)
  }

  enum Stop: CaseIterable { case reset, cancel }

  @Test(arguments: Stop.allCases)
  func `a result that is reset or cancelled while it is written does not come back`(
    stop: Stop
  ) async throws {
    let device = GatedDevice(isOpen: true)
    do {
      let chain = try RecordedChain()
      try chain.workflow.resume(from: scene.journal, device: device.device)
      device.shut()
      let arrivals = device.arrivals.value
      chain.workflow.start()
      #expect(await eventually { device.arrivals.value > arrivals })
      switch stop {
      case .reset: chain.tasks[0].reset()
      case .cancel: chain.tasks[0].cancel()
      }
      #expect(chain.states[0] == (stop == .reset ? .ready : .cancelled))
      device.open()
      chain.workflow.closeJournal()
      #expect(chain.states[0] == (stop == .reset ? .ready : .cancelled))
      #expect(chain.runs.entries == ["a"])
    }
    let chain = try RecordedChain()
    #expect(try chain.workflow.resume(from: scene.journal).restored == [])
  }

  @Test func `a task that is reset while it is written, and runs again, has the new result`()
    async throws
  {
    let device = GatedDevice(isOpen: true)
    let runs = Counter()
    do {
      let workflow = inlineWorkflow()
      let task = BlockWorkflowTask<Int>(name: "t") { $0.finish(with: runs.add()) }
        .journaled(as: "t")
      try workflow.add(task)
      try workflow.resume(from: scene.journal, device: device.device)
      device.shut()
      workflow.start()
      task.reset()
      let future = workflow.start()
      device.open()
      #expect(await future.completion.successValue == .finished)
      #expect(task.result == 2)
      workflow.closeJournal()
    }
    let workflow = inlineWorkflow()
    let task = try workflow.add(OpenTask(name: "t").journaled(as: "t"))
    defer { workflow.closeJournal() }
    try workflow.resume(from: scene.journal)
    #expect(task.result == 2)
  }

  @Test func `twenty starts with a reset each leave a file of bounded size`() async throws {
    var sizes: [Int] = []
    for i in 0..<20 {
      let chain = try RecordedChain([i, i, i])
      try chain.workflow.resume(from: scene.journal, device: .hasty)
      for _ in 0..<20 {
        chain.workflow.reset()
        _ = try await chain.workflow.run()
      }
      chain.workflow.closeJournal()
      sizes.append(try scene.bytes.count)
    }
    #expect(try #require(sizes.max()) < 2 * sizes[0] + 10_000)
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal)
    #expect(chain.results == [19, 19, 19])
    #expect(try scene.bytes.count < 4_000, "what no longer counts is left out")
  }

  // MARK: Other kinds of tasks

  @Test func `tasks of a subworkflow are restored, and only the others run`() async throws {
    func make(_ runs: Log<String>, failing: Bool) throws -> (Workflow, WorkflowTask<Int>) {
      func task(_ name: String, fails: Bool = false) -> BlockWorkflowTask<Int> {
        BlockWorkflowTask<Int>(name: name) { run in
          runs.append(name)
          if fails { run.fail(with: TestError.first) } else { run.finish(with: 5) }
        }.journaled(as: name)
      }
      let inner = inlineWorkflow("inner")
      let x = try inner.add(task("x"))
      let y = try inner.add(task("y", fails: failing), prerequisites: x)
      let outer = inlineWorkflow("outer")
      let before = try outer.add(task("before"))
      let sub = SubworkflowTask<Int>(name: "sub", subworkflow: inner) { _ in
        runs.append("output")
        return try #require(x.result) + (y.result ?? 0)
      }.journaled(as: "sub")
      try outer.add(sub, prerequisites: before)
      return (outer, sub)
    }
    let runs = Log<String>()
    let (first, _) = try make(runs, failing: true)
    try first.resume(from: scene.journal)
    _ = try await first.run()
    first.closeJournal()
    #expect(runs.entries == ["before", "x", "y"])
    let (second, sub) = try make(runs, failing: false)
    #expect(try second.resume(from: scene.journal).restored == ["before", "x"])
    #expect(try await second.run() == .finished)
    second.closeJournal()
    #expect(runs.entries == ["before", "x", "y", "y", "output"])
    #expect(sub.result == 10)
    let (third, again) = try make(runs, failing: false)
    defer { third.closeJournal() }
    #expect(try third.resume(from: scene.journal).restored == ["before", "sub", "x", "y"])
    #expect(try await third.run() == .finished)
    #expect(again.result == 10 && runs.count == 5)
  }

  @Test func `a condition that was fulfilled stays so`() async throws {
    func make() throws -> (Workflow, ExternalConditionTask<String>) {
      let workflow = inlineWorkflow()
      let condition = ExternalConditionTask<String>(name: "approval", waitsForFulfillment: true)
        .journaled(as: "approval")
      try workflow.add(condition)
      return (workflow, condition)
    }
    let (first, condition) = try make()
    try first.resume(from: scene.journal)
    let future = first.start()
    #expect(condition.fulfill(with: "by me"))
    #expect(!condition.fulfill(with: "by you"))
    #expect(await future.completion.successValue == .finished)
    first.closeJournal()
    let (second, restored) = try make()
    defer { second.closeJournal() }
    try second.resume(from: scene.journal)
    #expect(restored.isFulfilled && restored.result == "by me")
    #expect(!restored.fulfill(with: "by you"))
  }

  @Test func `tasks and subworkflows that are added to a running workflow are recorded`()
    async throws
  {
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    try workflow.resume(from: scene.journal)
    let future = workflow.start()
    #expect(await future.completion.successValue == .finished)
    let inner = inlineWorkflow("inner")
    try inner.add(counting("x").journaled(as: "x"))
    let open = try workflow.add(OpenTask(name: "open"))
    let second = workflow.start()
    try workflow.add(counting("late").journaled(as: "late"))
    try workflow.add(SubworkflowTask(subworkflow: inner))
    open.finish(with: 1)
    #expect(await second.completion.successValue == .finished)
    #expect(try scene.recordCount == 2)
  }

  @Test func `a subworkflow that has a journal of its own keeps it`() async throws {
    let other = try JournalScene()
    let inner = inlineWorkflow("inner")
    let x = try inner.add(counting("x").journaled(as: "x"))
    try inner.resume(from: other.journal)
    let outer = inlineWorkflow("outer")
    try outer.add(counting("y").journaled(as: "y"))
    try outer.resume(from: scene.journal)
    try outer.add(SubworkflowTask(subworkflow: inner))
    #expect(try await outer.run() == .finished)
    outer.closeJournal()
    #expect(try scene.recordCount == 1 && other.recordCount == 1)
    x.reset()
    inner.closeJournal()
    #expect(try other.lines.contains { $0.contains(#""forgot":"x""#) && $0.contains(#""n":3"#) })
  }

  @Test func `a closed journal records no more, and the workflow goes on`() async throws {
    let chain = try RecordedChain()
    try chain.workflow.resume(from: scene.journal)
    chain.workflow.closeJournal()
    #expect(try await chain.workflow.run() == .finished)
    #expect(try scene.recordCount == 0)
    chain.workflow.reset()
    #expect(try await chain.workflow.run() == .finished)
  }

  @Test func `a workflow with a task that is skipped from the beginning can be resumed`()
    async throws
  {
    for restored in [[], ["work"]] {
      let workflow = inlineWorkflow()
      defer { workflow.closeJournal() }
      let alert = try workflow.add("alert", when: .whenAnyFails) { 1 }
      try workflow.add("work") { 1 }.journaled(as: "work")
      #expect(alert.isSkipped)
      #expect(try workflow.resume(from: scene.journal).restored == restored)
      #expect(try await workflow.run() == .finished)
      #expect(alert.isSkipped)
    }
  }

  @Test(
    """
    a record of a task that is skipped now is restored, and its dependents can run until it is \
    reset
    """)
  func recordOfSkippedTask() async throws {
    do {
      let workflow = inlineWorkflow()
      defer { workflow.closeJournal() }
      let gate = try workflow.add("gate") { 1 }
      let work = try workflow.add("work", after: gate) { $0 }.journaled(as: "work")
      try workflow.add("more", after: work) { $0 }.journaled(as: "more")
      try workflow.resume(from: scene.journal)
      #expect(try await workflow.run() == .finished)
    }
    let workflow = inlineWorkflow()
    defer { workflow.closeJournal() }
    let gate = try workflow.add("gate", when: .whenAnyFails) { 1 }
    let work = try workflow.add("work", after: gate) { $0 }.journaled(as: "work")
    let more = try workflow.add("more", after: work) { $0 }.journaled(as: "more")
    let last = try workflow.add("last", after: work, more) { $0 + $1 }
    let progress = workflow.progress
    let tasks = [gate, work, more, last]
    #expect(tasks.allSatisfy { $0.isSkipped })
    try workflow.resume(from: scene.journal)
    #expect(tasks.map(\.state) == [.skipped, .finished, .finished, .ready])
    #expect(progress.completedUnitCount == 3)
    #expect(try await workflow.run() == .finished)
    #expect(last.result == 2 && progress.completedUnitCount == 4)
    work.reset()
    #expect(tasks.allSatisfy { $0.isSkipped })
  }
}
