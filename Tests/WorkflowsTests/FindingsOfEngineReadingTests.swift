import Foundation
import Futures
import TestSupport
import Testing

@testable import Workflows

/// What a reading of the engine of workflows found, as programs.
@Suite("What a reading of the engine found", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfEngineReadingTests {
  private func condition(_ name: String = "condition") -> ExternalConditionTask<Int> {
    ExternalConditionTask<Int>(name: name, waitsForFulfillment: true)
  }

  // MARK: Journals

  /// Numbers that no journal reaches.
  private static let extremes: [JournalFormat.Record] = [
    JournalFormat.Record(n: 1, forgets: .max, forgot: "a"),
    JournalFormat.Record(n: 1, forgets: .max, finished: "a"),
    JournalFormat.Record(n: 1, forgets: .min, forgot: "a"),
    JournalFormat.Record(n: .max, forgets: 0, forgot: "a"),
    JournalFormat.Record(n: 1, forgets: 0, finished: "a", number: .max),
  ]

  @Test(arguments: extremes.indices)
  func `a line has the right sum and numbers out of range: it is damage, and recording goes on`(
    _ index: Int
  ) throws {
    let scene = try JournalScene()
    func resume() throws -> (WorkflowResumption, Workflow) {
      let workflow = inlineWorkflow()
      try workflow.add(counting("a").journaled(as: "a"))
      return (try workflow.resume(from: scene.journal, device: .hasty), workflow)
    }
    try resume().1.closeJournal()
    let salt = try #require(try JournalContents(try scene.bytes).header).number
    let extreme = JournalFormat.line(Self.extremes[index], data: Data("1".utf8), salt: salt)
    try scene.write(try scene.bytes + extreme)
    let (resumption, workflow) = try resume()
    #expect(resumption.restored.isEmpty)
    #expect(try workflow.start().wait(timeout: Event.patience).isFinished)
    workflow.closeJournal()
    let again = try resume()
    #expect(again.0.restored.count == 1)
    again.1.closeJournal()
  }

  // MARK: Cancellations of all

  @Test func `clean-up tasks fail one after the other: a finished workflow inside hears nothing`()
    throws
  {
    let center = NotificationCenter()
    let inner = Workflow(name: "inner", context: .inline, notificationCenter: center)
    try inner.add(counting("inside"))
    let postings = Postings(center, of: inner)
    let workflow = inlineWorkflow()
    workflow.failFast = true
    try workflow.add(SubworkflowTask(name: "subworkflow", subworkflow: inner))
    let work = try workflow.add(failing("work"))
    for number in 0..<10 {
      try workflow.add(failing("\(number)"), prerequisites: [work], when: .whenAllDone)
    }
    #expect(try workflow.start().wait(timeout: Event.patience).errors.count == 11)
    #expect(postings.log.entries.count { $0 == "willCancel inner" } == 0)
  }

  @Test func `a task inside fails, and the workflow around fails fast: the others inside end`()
    throws
  {
    let inner = inlineWorkflow("inner")
    let (open, bad) = (OpenTask(name: "open"), OpenTask(name: "bad"))
    try inner.add(open)
    try inner.add(bad)
    let middle = inlineWorkflow("middle")
    try middle.add(SubworkflowTask(subworkflow: inner))
    let workflow = inlineWorkflow()
    workflow.failFast = true
    let task = try workflow.add(SubworkflowTask(subworkflow: middle))
    let run = workflow.start()
    bad.fail(with: TestError.first)
    #expect(task.isFailed && open.isCancelled)
    #expect(try run.wait(timeout: Event.patience).errors.count == 1)
  }

  // MARK: Threads of Swift's pool

  /// A call with which a program on a thread of Swift's pool causes news.
  enum CallOnPool: CaseIterable {
    case cancel, cancelTask, finish, fail, fulfill, retry, run
  }

  @Test(arguments: CallOnPool.allCases)
  func `a Swift task makes a call that causes news: another thread calls the delegate`(
    _ call: CallOnPool
  ) async throws {
    let workflow = Workflow(name: "w")
    let task = try workflow.add(OpenTask(name: "task"))
    let condition = try workflow.add(condition())
    let first = workflow.start()
    #expect(await eventually { task.isExecuting && condition.isExecuting })
    if call == .retry || call == .run {
      task.finish(with: 1)
      if call == .run { condition.fulfill(with: 1) } else { condition.cancel() }
      _ = try await first.value
    }
    let delegate = CallsOnPool()
    workflow.delegate = delegate
    let run: Future<WorkflowOutcome>
    switch call {
    case .cancel: workflow.cancel()
    case .cancelTask: task.cancel()
    case .finish: task.finish(with: 1)
    case .fail: task.fail(with: TestError.first)
    case .fulfill: condition.fulfill(with: 1)
    case .retry: workflow.retry()
    case .run: _ = try await workflow.run()
    }
    if call == .run {
      run = first
    } else {
      #expect(await delegate.isCalled.opened())
      run = workflow.start()
      workflow.cancel()
    }
    _ = try await run.value
    #expect(await delegate.isCalled.opened())
    #expect(delegate.calls.entries.allSatisfy { !$0 })
  }

  @Test func `a task of an inline workflow, run on Swift's pool, ends another workflow`()
    async throws
  {
    let other = Workflow(name: "other")
    let condition = try other.add(condition())
    let delegate = CallsOnPool()
    let run = other.start()
    #expect(await eventually { condition.isExecuting })
    other.delegate = delegate
    let workflow = inlineWorkflow()
    try workflow.add("fulfills") { condition.fulfill(with: 1) }
    workflow.start()
    _ = try await run.value
    #expect(await delegate.isCalled.opened())
    #expect(delegate.calls.entries.allSatisfy { !$0 })
  }

  // MARK: The order of events

  /// Resets and starts a workflow when it has finished for the first time.
  private final class Restarting: WorkflowDelegate {
    private let finishes = Counter()
    func workflowDidFinish(_ workflow: Workflow) {
      guard finishes.add() == 1 else { return }
      workflow.reset()
      workflow.start()
    }
  }

  @Test func `a delegate resets and starts its workflow: streams and notifications stay in order`()
    async throws
  {
    let center = NotificationCenter()
    let workflow = Workflow(name: "w", context: .inline, notificationCenter: center)
    let a = try workflow.add(counting("a"))
    let postings = Postings(center)
    let delegate = Restarting()
    workflow.delegate = delegate
    let events = workflow.events
    workflow.start()
    var seen: [WorkflowEvent] = []
    for await event in events {
      seen.append(event)
      if case .runDidEnd = event { break }
    }
    #expect(
      seen == [
        .workflowWillStart, .taskDidStart(a), .taskDidFinish(a), .workflowDidFinish,
        .workflowWillReset, .taskDidReset(a), .workflowWillStart, .taskDidStart(a),
        .taskDidFinish(a), .workflowDidFinish, .runDidEnd(.finished),
      ])
    #expect(
      postings.log.entries == [
        "willStart w", "start a", "finish a", "didFinish w", "willReset w", "reset a",
        "willStart w", "start a", "finish a", "didFinish w",
      ])
    withExtendedLifetime(delegate) {}
  }

  // MARK: Progress

  @Test func `an inline workflow runs inside another one: the outer progress moves with it`()
    async throws
  {
    let inner = inlineWorkflow("inner")
    let outer = Workflow(name: "outer")
    let first = try inner.add(counting("first"))
    let seen = Box(0.0)
    try inner.add("second", after: first) { [unowned outer] _ in
      seen.value = outer.progress.fractionCompleted
    }
    try outer.add(SubworkflowTask(subworkflow: inner))
    #expect(outer.progress.fractionCompleted == 0)
    #expect(try await outer.start().value.isFinished)
    #expect(seen.value == 0.5)
    #expect(outer.progress.fractionCompleted == 1)
  }

  // MARK: Contexts that run some operations in the call

  /// Runs operations inside the call while it is told to, and on threads of their own
  /// otherwise.
  private final class CallerRuns: ExecutionContext {
    let isFull = Atomic(false)
    func execute(_ operation: Operation) {
      if isFull.load(ordering: .acquiring) { return operation.start() }
      Thread { operation.start() }.start()
    }
  }

  @Test func `a context once ran an operation in the call: tasks run at the same time afterwards`()
    async throws
  {
    let context = CallerRuns()
    let workflow = Workflow(name: "w", context: context)
    let first = try workflow.add("first") { context.isFull.store(true, ordering: .releasing) }
    for number in 0..<2 { try workflow.add(counting("\(number)"), prerequisites: first) }
    #expect(try await workflow.start().value.isFinished)
    context.isFull.store(false, ordering: .releasing)
    let (left, right) = (Event(), Event())
    let meetings = Counter()
    for (mine, other) in [(left, right), (right, left)] {
      try workflow.add("meets") {
        mine.signal()
        if other.wait() { meetings.add() }
      }
    }
    #expect(try await workflow.start().value.isFinished)
    #expect(meetings.value == 2)
  }

  // MARK: Blocked threads

  #if os(Linux) || os(macOS)
    @Test func `a task waits for one that it starts, and all shared threads block: that one runs`()
      async
    {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          let never = DispatchSemaphore(value: 0)
          for _ in 0..<1_000 { DispatchQueue.global().async { never.wait() } }
          let workflow = Workflow(name: "w", context: ThreadContext())
          let (started, ended) = (Event(), Event())
          let next = counting("next")
          let task = BlockWorkflowTask<Int>(name: "task") { run in
            next.future.onCompletion(on: .inline) { _ in ended.signal() }
            next.start()
            run.finish(with: ended.wait(.seconds(30)) ? 1 : 0)
            started.signal()
          }
          guard (try? workflow.add(task)) != nil, (try? workflow.add(next)) != nil else {
            return false
          }
          task.start()
          return started.wait() && task.result == 1
        }
      }
    }
  #endif

  // MARK: Retry policies

  @Test func `two threads fail the same run: the policy is asked once, and one of them fails it`()
    async throws
  {
    let asked = Counter()
    let (isAsked, goesOn) = (Event(), Event())
    let runs = Log<TaskWork<Int>>()
    let workflow = inlineWorkflow()
    let task = try workflow.add(BlockWorkflowTask<Int>(name: "task") { runs.append($0) })
    task.retryPolicy = RetryPolicy(attempts: 5) { _, _ in
      if asked.add() == 1 {
        isAsked.signal()
        goesOn.wait()
      }
      return .retry
    }
    workflow.start()
    let run = runs.entries[0]
    let (ended, isTheFirst) = (Event(), Box(false))
    Thread {
      isTheFirst.value = run.fail(with: TestError.first)
      ended.signal()
    }.start()
    #expect(await isAsked.opened())
    #expect(!run.fail(with: TestError.second))
    #expect(task.isExecuting)
    goesOn.signal()
    #expect(await ended.opened())
    #expect(isTheFirst.value)
    #expect(asked.value == 1 && runs.count == 2)
    #expect(task.failedAttempts.count == 1)
    workflow.cancel()
  }

  @Test func `a finish comes while the policy is asked: the task finishes`() async throws {
    let runs = Log<TaskWork<Int>>()
    let workflow = inlineWorkflow()
    let task = try workflow.add(BlockWorkflowTask<Int>(name: "task") { runs.append($0) })
    task.retryPolicy = RetryPolicy(attempts: 5) { _, _ in
      #expect(runs.entries[0].finish(with: 1))
      return .retry
    }
    let run = workflow.start()
    #expect(!runs.entries[0].fail(with: TestError.first))
    #expect(try await run.value.isFinished)
    #expect(runs.count == 1)
    // The policy keeps the run, which keeps its task.
    task.retryPolicy = RetryPolicy(attempts: 1)
  }
}

/// Notes of each call whether it came on a thread of Swift's pool.
private final class CallsOnPool: WorkflowDelegate {
  let calls = Log<Bool>()
  let isCalled = Event()

  private func note() {
    calls.append(withUnsafeCurrentTask { $0 != nil })
    isCalled.signal()
  }

  func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) { note() }
  func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) { note() }
  func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
    note()
  }
  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) { note() }
  func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) { note() }
}
