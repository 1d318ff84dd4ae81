import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing
import TypedTasks

private enum Printer {}

@Suite("Tasks that run an operation", .timeLimit(.minutes(5)), .oneAtATime)
struct GatedTaskTests {
  @Test("Many gated tasks, one in the other, are dropped before they are in a queue: no stack")
  func nested() async throws {
    let tracker = LifetimeTracker()
    try await SmallStackThread.running {
      let tracked = tracker.make()
      var operation: Operation = BlockOperation { tracked.touch() }
      for _ in 0..<100_000 { operation = GatedTask(operation: operation) }
      withExtendedLifetime(operation) {}
    }
    #expect(tracker.alive == 0)
  }

  @Test("A gated task is kept: it keeps its operation, before and after it has run")
  func operation() async {
    let operation = BlockOperation {}
    let task = GatedTask(operation: operation)
    #expect(task.operation === operation)
    TaskQueue().addTask(task)
    _ = await task.completion
    #expect(operation.isFinished)
    #expect(task.operation === operation)
  }

  @Test("The operation of a gated task depends on the gated task: both end")
  func cycle() async {
    let inner: Sample<Int> = succeeding(1)
    let task = GatedTask(operation: inner)
    inner.addDependency(task)
    TaskQueue().addTask(task)
    #expect(await eventually { task.isFinished && inner.isFinished })
    if case .cycle? = inner.kind {} else { Issue.record("\(String(describing: inner.kind))") }
    // Otherwise the two wait for ever.
    inner.cancel()
  }

  @Test("The operation of a gated task begins to wait for the gated task later: both end")
  func cycleLater() async {
    let (inner, promise) = (Manual<Int>(), Promises.make(promising: Int.self))
    inner.addDependency(promise)
    let (task, outer) = (GatedTask(operation: inner), TaskQueue())
    outer.addTask(task)
    #expect(await eventually { inner.description.contains("waiting for") })
    inner.addDependency(task)
    #expect(await eventually { task.isFinished && inner.isFinished })
    if case .cycle? = inner.kind {} else { Issue.record("\(String(describing: inner.kind))") }
    inner.cancel()
  }

  @Test("A gated task runs a task, a promise or a future: it ends with it")
  func futures() async {
    let queue = TaskQueue()
    let inner = Manual<Int>()
    let (promise, other) = (Promise<Int>(), Promise<Int>())
    let tasks = [
      GatedTask(operation: inner), GatedTask(operation: promise),
      GatedTask(operation: other.mapToValue { $0 + 1 }),
    ]
    queue.addAll(tasks)
    #expect(await inner.started.opened())
    #expect(tasks.allSatisfy { !$0.isFinished })
    inner.finish(with: .success(1))
    promise.succeed(with: 1)
    other.cancel()
    #expect(await tasks[0].outcome() == .success)
    #expect(await tasks[1].outcome() == .success)
    #expect(await tasks[2].outcome() == .cancelled)
  }

  @Test("The future of a gated task is cancelled while its closure runs: the task ends after it")
  func cancelledFuture() async {
    let (hasBegun, goOn, promise) = (Event(), Event(), Promise<Int>())
    let future = promise.mapToValue(on: .global()) { value in
      hasBegun.signal()
      goOn.wait()
      return value
    }
    let task = GatedTask(operation: future)
    TaskQueue().addTask(task)
    promise.succeed(with: 1)
    #expect(await hasBegun.opened())
    future.cancel()
    #expect(future.isSettled && !future.isFinished && !task.isFinished)
    goOn.signal()
    #expect(await task.outcome() == .cancelled)
  }

  @Test("A gated task gets a future that begins to run: both end, 300 rounds")
  func futureThatBegins() async {
    for _ in 0..<300 {
      let promise = Promise<Int>()
      let future = promise.mapToValue(on: .global()) { $0 + 1 }
      let (task, queue) = (GatedTask(operation: future), TaskQueue())
      queue.addTask(task)
      promise.succeed(with: 1)
      #expect(await task.outcome() == .success)
      #expect(await eventually { future.isFinished })
    }
  }

  @Test func `a gated task that timed out keeps its slot until its operation ends`() async {
    let (queue, clock, operation) = (
      TaskQueue(maxConcurrentTaskCount: 1), ManualClock(), ManualOperation()
    )
    let gated = GatedTask(operation: operation)
      .addCondition(.mutuallyExclusive(Printer.self))
      .addObserver(.timeout(.seconds(1), clock: clock))
    let next: Sample<Int> = succeeding(1)
    let elsewhere = exclusive(Printer.self)
    queue.addTasks(gated, next)
    #expect(await eventually { operation.isExecuting && clock.sleeping > 0 })
    TaskQueue().addTask(elsewhere)
    clock.advance(by: .seconds(1))
    #expect(await gated.outcome() == .timeout)
    #expect(operation.isCancelled)
    #expect(!next.isExecuting && !next.isFinished)
    #expect(!elsewhere.isExecuting && !elsewhere.isFinished)
    operation.end()
    #expect(await next.outcome() == .success)
    #expect(await elsewhere.outcome() == .success)
  }

  @Test func `a gated task's operation ends in its cancellation by a timeout: timed out`() async {
    /// As an operation that wraps callbacks, which finishes when it is asked to cancel.
    final class Obedient: ManualOperation, @unchecked Sendable {
      // Sendable: adds no state.
      override func cancel() {
        super.cancel()
        end()
      }
    }
    let (clock, operation) = (ManualClock(), Obedient())
    let gated = GatedTask(operation: operation).addObserver(.timeout(.seconds(1), clock: clock))
    TaskQueue().addTask(gated)
    #expect(await eventually { operation.isExecuting && clock.sleeping > 0 })
    clock.advance(by: .seconds(1))
    #expect(await gated.outcome() == .timeout)
  }

  @Test func `a gated task of a lazy future starts its work`() async {
    let made = Counter()
    let gated = GatedTask(
      operation: Promises.lazy {
        made.add()
        return Promises.makeSucceeded(with: 1)
      })
    TaskQueue().addTask(gated)
    #expect(await gated.outcome() == .success)
    #expect(made.value == 1)
  }

  /// An operation that lets two threads which look at its readiness go on at the same time.
  private final class Sought: Operation, @unchecked Sendable {
    // Sendable: adds only what has locks.
    let starts = Counter()
    private let lookers = Log<ObjectIdentifier>()
    private let isSeenTwice = Event()
    private let hasEnded = Event()

    override var isAsynchronous: Bool { true }
    override var isFinished: Bool { hasEnded.isOpen }
    override var isReady: Bool {
      lookers.append(ObjectIdentifier(Thread.current))
      if Set(lookers.entries).count > 1 {
        isSeenTwice.signal()
      } else {
        isSeenTwice.wait(.milliseconds(200))
      }
      return super.isReady
    }

    override func start() {
      guard starts.add() == 1 else { return }
      willChangeValue(forKey: "isFinished")
      hasEnded.signal()
      didChangeValue(forKey: "isFinished")
    }
  }

  @Test("Several gated tasks run one operation at the same time: it is started once, and all end")
  func oneOperation() async {
    let (queue, operation) = (TaskQueue(maxConcurrentTaskCount: 4), Sought())
    let tasks = (0..<4).map { _ in GatedTask(operation: operation) }
    queue.addAll(tasks)
    for task in tasks { #expect(await task.outcome() == .success) }
    // What began in the slots has returned, too.
    #expect(await eventually { queue.operationCount == 0 })
    #expect(operation.starts.value == 1)
  }
}
