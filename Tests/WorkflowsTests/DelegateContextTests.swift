import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Delegates in a context, and events", .timeLimit(.minutes(5)), .oneAtATime)
struct DelegateContextTests {
  /// Notes every call, and where it was made.
  private final class Recorder: WorkflowDelegate, WorkflowTaskDelegate {
    let log = Log<String>()
    let isInPlace: @Sendable () -> Bool
    let strays = Counter()
    let (active, overlaps) = (Counter(), Counter())
    let end = Event()

    init(isInPlace: @escaping @Sendable () -> Bool = { true }) { self.isInPlace = isInPlace }

    private func note(_ text: String) {
      if active.add() > 1 { overlaps.add() }
      if !isInPlace() { strays.add() }
      log.append(text)
      active.add(-1)
    }

    func workflowDidFinish(_ workflow: Workflow) { note("did finish") }
    func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) {
      note("did end \(outcome.isFinished)")
      end.signal()
    }
    func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {
      note("\(task.name) failed")
    }
    func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) {
      note("\(task.name) cancelled")
    }
    func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) {
      note("\(task.name) started")
    }
    func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) {
      note("\(task.name) finished")
    }
    func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable) {
      note("finished with \(result)")
    }
    func task(_ task: AnyWorkflowTask, didFailWith error: any Error) { note("failed: \(error)") }
    func taskDidCancel(_ task: AnyWorkflowTask) { note("cancelled") }
  }

  /// What a delegate would be told of these events.
  private func calls(for events: [WorkflowEvent]) -> [String] {
    events.compactMap { event in
      switch event {
      case .taskDidStart(let task): "\(task.name) started"
      case .taskDidFinish(let task): "\(task.name) finished"
      case .taskDidFail(let task): "\(task.name) failed"
      case .taskDidCancel(let task): "\(task.name) cancelled"
      case .workflowDidFinish: "did finish"
      case .runDidEnd(let outcome): "did end \(outcome.isFinished)"
      default: nil
      }
    }
  }

  /// The events up to the end of the run.
  private func events(of stream: AsyncStream<WorkflowEvent>) async -> [WorkflowEvent] {
    var events: [WorkflowEvent] = []
    for await event in stream {
      events.append(event)
      if case .runDidEnd = event { break }
    }
    return events
  }

  private func addTasks(to workflow: Workflow) throws {
    let first = try workflow.add("first") { 1 }
    for number in 0..<50 {
      try workflow.add("good \(number)", after: first) { $0 + number }
      try workflow.add("bad \(number)", after: first) { _ in throw TestError.first }
      try workflow.add("gone \(number)", after: first) { _ in throw CancellationError() }
    }
  }

  // MARK: Contexts

  @Test("a delegate gets all calls in their order, one at a time, in a concurrent context")
  func order() async throws {
    let queue = OperationQueue()
    let workflow = Workflow(name: "w")
    try addTasks(to: workflow)
    let delegate = Recorder { OperationQueue.current === queue }
    workflow.setDelegate(delegate, on: queue)
    #expect(workflow.delegate === delegate)
    let stream = workflow.events
    _ = try await workflow.run()
    #expect(await delegate.end.opened())
    #expect(delegate.log.entries == calls(for: await events(of: stream)))
    #expect(delegate.log.count == 2 * 151 + 1)
    #expect(delegate.strays.value == 0 && delegate.overlaps.value == 0)
  }

  @Test("a delegate on the main queue is told there")
  func main() async throws {
    let workflow = Workflow(name: "w")
    try addTasks(to: workflow)
    // (Not the main thread: another one may serve the main queue.)
    let delegate = Recorder {
      MainActor.assumeIsolated { OperationQueue.current === OperationQueue.main }
    }
    workflow.setDelegate(delegate, on: .main)
    _ = try await workflow.run()
    #expect(await delegate.end.opened())
    #expect(delegate.strays.value == 0 && delegate.log.entries.last == "did end false")
  }

  @Test("a delegate in a context may wait for work of its workflow, and holds it up nowhere")
  func waiting() async throws {
    final class Waiting: WorkflowDelegate {
      let (last, seen) = (Event(), Event())
      func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) {
        if task.name == "first", last.wait() { seen.signal() }
      }
    }
    let workflow = Workflow(name: "w")
    let delegate = Waiting()
    let first = try workflow.add("first") { 1 }
    try workflow.add("last", after: first) { _ in delegate.last.signal() }
    workflow.setDelegate(delegate, on: .global())
    #expect(try await workflow.run().isFinished)
    #expect(await delegate.seen.opened())
  }

  @Test("calls wait for their context, and the last ones keep their workflow until then")
  func lateContext() async throws {
    let (context, delegate) = (ManualContext(), Recorder())
    weak var released: Workflow?
    do {
      let workflow = Workflow(name: "w")
      released = workflow
      try addTasks(to: workflow)
      workflow.setDelegate(delegate, on: context)
      _ = try await workflow.run()
    }
    #expect(await eventually { context.count == 1 })
    #expect(delegate.log.count == 0 && released != nil)
    context.runAll()
    #expect(delegate.log.count == 2 * 151 + 1 && delegate.log.entries.last == "did end false")
    #expect(await eventually { released == nil })
  }

  @Test("a turn of a context is bounded; the context gets another for the rest")
  func turns() async throws {
    let (context, delegate) = (ManualContext(), Recorder())
    let workflow = Workflow(name: "w")
    for number in 0..<1_000 { try workflow.add("\(number)") {} }
    workflow.setDelegate(delegate, on: context)
    #expect(try await workflow.run().isFinished)
    let outcome = await eventually { context.count == 1 }
    #expect(outcome)
    context.runNext()
    #expect(delegate.log.count > 0 && delegate.log.count < 500 && context.count == 1)
    context.runAll()
    #expect(delegate.log.count == 2_002)
    #expect(context.executeCount < 30)
  }

  @Test("a delegate that is replaced or released hears no more, in the midst of a turn neither")
  func replaced() async throws {
    let (context, first, second) = (ManualContext(), Recorder(), Recorder())
    let workflow = Workflow(name: "w", context: .inline)
    let task = try workflow.add("t") { 1 }
    workflow.setDelegate(first, on: context)
    workflow.start()
    workflow.setDelegate(second, on: context)
    context.runAll()
    #expect(first.log.count == 0 && second.log.count == 0)
    task.reset()
    workflow.start()
    context.runAll()
    #expect(second.log.entries == ["t started", "t finished", "did finish", "did end true"])
    workflow.delegate = nil
    #expect(workflow.delegate == nil)

    weak var released: Recorder?
    do {
      let third = Recorder()
      released = third
      workflow.setDelegate(third, on: context)
      workflow.reset()
      workflow.start()
    }
    #expect(released == nil && workflow.delegate == nil)
    context.runAll()
    workflow.setDelegate(nil, on: context)
    workflow.reset()
    workflow.start()
    #expect(context.runAll() == 0)
  }

  /// Starts operations where it is asked to; a value, so that the library knows nothing of it.
  private struct AtOnce: ExecutionContext {
    func execute(_ operation: Operation) { operation.start() }
  }

  /// Lets a task run again, many times.
  private final class Restless: WorkflowDelegate {
    let ends = Counter()
    func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) {
      guard ends.add() < 20_000 else { return }
      workflow.reset()
      workflow.start()
    }
  }

  @Test("news from inside a call are told in turn, without recursion, where calls are made at once")
  func atOnce() async throws {
    let counts = try await SmallStackThread.running {
      let (inline, atOnce) = (Restless(), Restless())
      for (delegate, isInline) in [(inline, true), (atOnce, false)] {
        let workflow = Workflow(name: "w", context: .inline)
        try! workflow.add("t") {}
        if isInline {
          workflow.setDelegate(delegate, on: .inline)
        } else {
          workflow.setDelegate(delegate, on: AtOnce())
        }
        workflow.start()
      }
      return [inline.ends.value, atOnce.ends.value]
    }
    #expect(counts == [20_000, 20_000])
  }

  /// Keeps the first operation, and starts others where it is asked to.
  private final class LateAtOnce: ExecutionContext {
    let first = Box<Operation?>(nil)
    private let count = Counter()
    func execute(_ operation: Operation) {
      if count.add() == 1 { first.value = operation } else { operation.start() }
    }
  }

  @Test("calls that have waited for a context need no stack where it then starts turns at once")
  func lateAtOnce() async throws {
    let (context, delegate) = (LateAtOnce(), Recorder())
    let workflow = inlineWorkflow()
    for _ in 0..<50_000 { try workflow.add("t") {} }
    workflow.setDelegate(delegate, on: context)
    workflow.start()
    #expect(delegate.log.count == 0)
    try await SmallStackThread.running(stackSize: 128 * 1024, within: Event.patience) {
      context.first.value?.start()
    }
    #expect(delegate.log.count == 100_002)
  }

  /// Starts operations inside the call that hands them over, on a queue of its own.
  private struct Confined: ExecutionContext {
    let queue: DispatchQueue
    func execute(_ operation: Operation) { queue.sync { operation.start() } }
  }

  @Test func `a context that starts operations inside the call: the delegate is told there`()
    async throws
  {
    let (queue, key) = (DispatchQueue(label: "confined"), DispatchSpecificKey<Bool>())
    queue.setSpecific(key: key, value: true)
    let delegate = Recorder { DispatchQueue.getSpecific(key: key) == true }
    let workflow = Workflow(name: "w")
    try addTasks(to: workflow)
    workflow.setDelegate(delegate, on: Confined(queue: queue))
    _ = try await workflow.run()
    #expect(await delegate.end.opened())
    #expect(delegate.log.count == 2 * 151 + 1)
    #expect(delegate.strays.value == 0 && delegate.overlaps.value == 0)
  }

  /// Starts another workflow when the first one ends, and fulfils a promise.
  private final class Starting: WorkflowDelegate {
    let (next, promise, end) = (Workflow(name: "next", context: .inline), Promise<Int>(), Event())

    func workflow(_ workflow: Workflow, didEndRunWith outcome: WorkflowOutcome) {
      if workflow === next { return end.signal() }
      promise.succeed(with: 1)
      next.start()
    }
  }

  @Test func `a context with a lock: a delegate starts a workflow whose delegate has it, too`()
    async throws
  {
    let (context, delegate, hasRun) = (LockingContext(), Starting(), Event())
    let first = Workflow(name: "first", context: .inline)
    for workflow in [first, delegate.next] {
      try workflow.add("t") { 1 }
      workflow.setDelegate(delegate, on: context)
    }
    delegate.promise.onSuccess(on: context) { _ in hasRun.signal() }
    first.start()
    #expect(await delegate.end.opened())
    #expect(await hasRun.opened())
    #expect(context.refused.value == 0)
  }

  @Test("a cancelled operation still tells; a dropped one drops the calls, and later ones come")
  func cancelledAndDropped() async throws {
    let workflow = Workflow(name: "w", context: .inline)
    let (queue, delegate) = (OperationQueue(), Recorder())
    try workflow.add("t") { 1 }
    queue.isSuspended = true
    workflow.setDelegate(delegate, on: queue)
    workflow.start()
    queue.cancelAllOperations()
    queue.isSuspended = false
    #expect(await delegate.end.opened())
    #expect(delegate.log.count == 4)

    let (context, other) = (ManualContext(), Recorder())
    workflow.setDelegate(other, on: context)
    workflow.reset()
    workflow.start()
    context.dropAll()
    workflow.reset()
    workflow.start()
    context.runAll()
    #expect(other.log.entries == ["t started", "t finished", "did finish", "did end true"])
  }

  @Test("a task's delegate is told in its context, too")
  func taskDelegate() async throws {
    let (context, delegate) = (ManualContext(), Recorder())
    let workflow = Workflow(name: "w", context: .inline)
    let good = try workflow.add("good") { 1 }
    let bad = try workflow.add("bad") { throw TestError.first }
    let gone = try workflow.add("gone") { throw CancellationError() }
    for task in [good, bad, gone] as [AnyWorkflowTask] {
      task.setDelegate(delegate, on: context)
      #expect(task.delegate === delegate)
    }
    workflow.start()
    #expect(delegate.log.count == 0)
    context.runAll()
    #expect(Set(delegate.log.entries) == ["finished with 1", "failed: first", "cancelled"])
    good.setDelegate(nil, on: context)
    good.reset()
    good.start()
    #expect(good.delegate == nil && context.runAll() == 0 && good.result == 1)
  }

  // MARK: Events

  @Test("events that were had before the run are all there, even if they are read after it")
  func eventsBeforeTheRun() async throws {
    let workflow = Workflow(name: "w")
    let (early, alsoEarly) = (workflow.events, workflow.events)
    let first = try workflow.add("first") { 1 }
    try workflow.add("second", after: first) { $0 }
    #expect(try await workflow.run().isFinished)
    let (seen, alsoSeen) = (await events(of: early), await events(of: alsoEarly))
    #expect(seen == alsoSeen && seen.first == .workflowWillStart)
    #expect(
      calls(for: seen) == [
        "first started", "first finished", "second started", "second finished", "did finish",
        "did end true",
      ])
  }

  @Test func `a task that is its own delegate in a context: it is told there, and is released`()
    async throws
  {
    final class OwnDelegate: WorkflowTask<Int>, WorkflowTaskDelegate, @unchecked Sendable {
      // Sendable: nothing changes.
      let queue = DispatchQueue(label: "calls")
      let (log, end) = (Log<String>(), Event())
      override func main() {}
      private func note(_ text: String) {
        dispatchPrecondition(condition: .onQueue(queue))
        log.append(text)
      }
      func task(_ task: AnyWorkflowTask, didFinishWith result: any Sendable) {
        note("finished with \(result)")
        end.signal()
      }
      func task(_ task: AnyWorkflowTask, didFailWith error: any Error) { note("failed") }
      func taskDidCancel(_ task: AnyWorkflowTask) { note("cancelled") }
    }
    let workflow = inlineWorkflow()
    var task: OwnDelegate? = OwnDelegate(name: "task")
    weak var released: OwnDelegate?
    released = task
    if let task {
      try workflow.add(task)
      task.setDelegate(task, on: task.queue)
      workflow.start()
      task.fail(with: TestError.first)
      task.retry()
      task.cancel()
      task.retry()
      task.finish(with: 1)
      #expect(await task.end.opened())
      #expect(task.log.entries == ["failed", "cancelled", "finished with 1"])
    }
    task = nil
    withExtendedLifetime(consume workflow) {}
    #expect(await eventually { released == nil })
  }
}
