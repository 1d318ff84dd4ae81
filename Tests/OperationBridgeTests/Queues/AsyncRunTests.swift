import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Running async closures on a queue", .timeLimit(.minutes(5)), .oneAtATime)
struct AsyncRunTests {
  private enum Trace { @TaskLocal static var name = "none" }

  // MARK: Results

  @Test("An async closure: what it returns or throws is the result, CancellationError cancels")
  func results() async throws {
    let queue = OperationQueue.make()
    let value = queue.run {
      await Task.yield()
      return 7
    }
    #expect(try await value.value == 7)
    let failed = queue.run { () async throws -> Int in
      await Task.yield()
      throw TestError.first
    }
    await #expect(throws: TestError.first) { try await failed.value }
    let cancelled = queue.run { () async throws -> Int in throw CancellationError() }
    #expect(await cancelled.completion.failureValue as? ProperationsError == .cancelled)
    #expect(cancelled.isCancelled)
    #expect(await queue.isEmptyEventually())
  }

  @Test("A closure that does not await: runs as an operation of the queue, as before")
  func synchronous() async throws {
    let queue = OperationQueue.make("mine")
    let name = queue.run { OperationQueue.current?.name }
    #expect(try await name.value == "mine")
  }

  @Test("The main queue: the future fails, and the closure does not run")
  func main() async {
    let tracker = LifetimeTracker()
    let future = OperationQueue.main.run { [object = tracker.make()] in
      await Task.yield()
      object.touch()
    }
    #expect(future.result?.failureValue as? ProperationsError == .blockingOnMainQueue)
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test("A closure that reports: its future and futures made from it follow")
  func progress() async throws {
    let queue = OperationQueue.make(limit: 1)
    let (begun, mayEnd) = (Event(), Event())
    let future = queue.run { () async in
      Promises.report(completed: 1, of: 4)
      begun.signal()
      _ = await mayEnd.opened()
    }
    let end = future.mapToValue(on: .inline) { 1 }
    #expect(await begun.opened())
    #expect(future.currentProgress.completed == 1 && end.currentProgress.total == 4)
    mayEnd.signal()
    #expect(try await end.value == 1)
    #expect(future.currentProgress.fractionCompleted == 1)
  }

  // MARK: The slot

  @Test("A serial queue: one closure at a time, in the order added, over all its suspensions")
  func serial() async throws {
    let queue = OperationQueue.make(limit: 1)
    let (running, log) = (Counter(), Log<Int>())
    let all = (0..<50).map { number in
      queue.run {
        running.add()
        log.append(number)
        for _ in 0..<5 { await Task.yield() }
        running.add(-1)
        return number
      }
    }
    #expect(try await Promises.collect(all).value == Array(0..<50))
    #expect(running.highest == 1)
    #expect(log.entries == Array(0..<50))
  }

  @Test("A limit of three: three closures run at a time, although none blocks a thread")
  func limit() async throws {
    let queue = OperationQueue.make(limit: 3)
    let (running, gate) = (Counter(), Event())
    let all = (0..<30).map { _ in
      queue.run {
        running.add()
        await gate.opened()
        running.add(-1)
      }
    }
    #expect(await eventually { running.value == 3 })
    gate.signal()
    _ = try await Promises.collect(all).value
    #expect(running.highest == 3)
  }

  @Test("A thousand closures that wait at the same time: all have started")
  func width() async throws {
    let queue = OperationQueue.make(limit: 1_000)
    let (running, gate) = (Counter(), Event())
    let all = (0..<1_000).map { _ in
      queue.run {
        running.add()
        await gate.opened()
      }
    }
    #expect(await eventually { running.value == 1_000 })
    gate.signal()
    _ = try await Promises.collect(all).value
    #expect(await queue.isEmptyEventually())
  }

  @Test("Operations and sync closures of the queue: wait for the slot of an async closure")
  func mixed() async throws {
    let queue = OperationQueue.make(limit: 1)
    let (gate, started, log) = (Event(), Event(), Log<String>())
    let first = queue.run {
      started.signal()
      await gate.opened()
      log.append("async")
    }
    queue.addOperation { log.append("operation") }
    let last = queue.run { log.append("sync") }
    #expect(await started.opened())
    #expect(log.count == 0)
    gate.signal()
    try await last.value
    try await first.value
    #expect(log.entries == ["async", "operation", "sync"])
  }

  @Test("A priority: of closures that wait, the one with the highest starts first")
  func priority() async throws {
    let queue = OperationQueue.make(limit: 1, isSuspended: true)
    let log = Log<String>()
    let low = queue.run(priority: .low) { () async in log.append("low") }
    let high = queue.run(priority: .veryHigh) { () async in log.append("high") }
    queue.isSuspended = false
    try await low.value
    try await high.value
    #expect(log.entries == ["high", "low"])
  }

  // MARK: Barriers and dependencies

  @Test("A barrier: begins after what is in front, and holds back what is behind until it returns")
  func barrier() async throws {
    let queue = OperationQueue.make(limit: 4)
    let (log, gate, started) = (Log<String>(), Event(), Event())
    let front = (0..<4).map { _ in
      queue.run {
        await Task.yield()
        log.append("front")
      }
    }
    let barrier = queue.run(barrier: true) {
      started.signal()
      await gate.opened()
      log.append("barrier")
    }
    let behind = (0..<4).map { _ in queue.run { log.append("behind") } }
    #expect(await started.opened())
    #expect(log.count == 4)
    gate.signal()
    _ = try await Promises.collect(front + [barrier] + behind).value
    #expect(
      log.entries == Array(repeating: "front", count: 4) + ["barrier"]
        + Array(repeating: "behind", count: 4))
  }

  private final class Subclass: OperationQueue, @unchecked Sendable {}

  /// A queue that drops its barriers, as a queue whose operations are cancelled may do.
  private final class DroppingQueue: OperationQueue, @unchecked Sendable {
    // Sendable: a box is.
    private let blocks = Box<[@Sendable () -> Void]>([])

    override func addBarrierBlock(_ block: @escaping @Sendable () -> Void) {
      blocks.value.append(block)
    }

    func dropBarriers() { blocks.value = [] }
  }

  @Test("A barrier that a queue of a subclass drops: cancelled, and never starts")
  func droppedBarrier() async throws {
    let queue = DroppingQueue()
    let runs = Counter()
    let async = queue.run(barrier: true) {
      await Task.yield()
      runs.add()
    }
    let sync = queue.run(barrier: true) { runs.add() }
    #expect(!async.isFulfilled && !sync.isFulfilled)
    queue.dropBarriers()
    #expect(async.isCancelled && sync.isCancelled)
    #expect(runs.value == 0)
  }

  @Test("A barrier in a queue of a subclass: holds back what is behind until it returns")
  func barrierOfSubclass() async throws {
    let queue = Subclass()
    queue.maxConcurrentOperationCount = 4
    let (log, gate, started) = (Log<String>(), Event(), Event())
    let barrier = queue.run(barrier: true) {
      started.signal()
      await gate.opened()
      log.append("barrier")
    }
    let behind = queue.run { log.append("behind") }
    #expect(await started.opened())
    gate.signal()
    try await behind.value
    try await barrier.value
    #expect(log.entries == ["barrier", "behind"])
  }

  @Test("Dependencies: the closure begins when they have finished, whatever their results are")
  func dependencies() async throws {
    let queue = OperationQueue.make(limit: 2)
    let (first, second) = (Promise<Int>(), BlockOperation {})
    let begun = Event()
    let after = queue.run(after: first, second) { () async in begun.signal() }
    let barrier = queue.run(barrier: true, after: first) { () async in first.isFinished }
    #expect(try await queue.run { 1 }.value == 1)
    queue.addOperation(second)
    _ = await queue.run {}.completion
    #expect(!begun.isOpen)
    first.fail(with: TestError.first)
    try await after.value
    #expect(try await barrier.value)
  }

  @Test("A barrier that is cancelled while its dependency is pending: never starts")
  func cancelledBarrier() async throws {
    let queue = OperationQueue.make(limit: 2)
    let (first, tracker) = (Promise<Int>(), LifetimeTracker())
    let barrier = queue.run(barrier: true, after: first) { [object = tracker.make()] in
      await Task.yield()
      object.touch()
    }
    barrier.cancel()
    #expect(barrier.isCancelled)
    #expect(await eventually { tracker.alive == 0 })
    first.succeed(with: 1)
    #expect(try await queue.run { 1 }.value == 1)
  }

  // MARK: Cancelling

  @Test("Cancelled while it waits in the queue: settles at once, and the closure never starts")
  func cancelledInQueue() async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let (tracker, log) = (LifetimeTracker(), Log<Int>())
    let future = queue.run { [object = tracker.make()] in
      await Task.yield()
      object.touch()
      log.append(1)
    }
    future.cancel()
    #expect(future.isCancelled)
    #expect(await eventually { tracker.alive == 0 })
    queue.isSuspended = false
    #expect(await queue.isEmptyEventually())
    #expect(log.count == 0)
  }

  @Test("cancelAllOperations: reaches the closure that runs, which keeps its slot until it returns")
  func cancelAll() async throws {
    let queue = OperationQueue.make(limit: 1)
    let (started, sawCancellation, gate) = (Event(), Event(), Event())
    let running = queue.run {
      started.signal()
      _ = await withTaskCancellationHandler {
        await gate.opened()
      } onCancel: {
        sawCancellation.signal()
      }
    }
    let waiting = queue.run { () async in }
    #expect(await started.opened())
    queue.cancelAllOperations()
    #expect(running.isCancelled && waiting.isCancelled)
    #expect(await sawCancellation.opened())
    let next = queue.run { () async in gate.isOpen }
    #expect(!next.isFulfilled)
    gate.signal()
    #expect(try await next.value, "the slot was free before the closure had returned")
  }

  @Test("A cancelled closure that still runs shuts its queue down: it does not wait for itself")
  func shutDownFromCancelled() async {
    let queue = OperationQueue.make(limit: 1)
    let (begun, goOn, left) = (Event(), Event(), Log<Int>())
    let future = queue.run { () async in
      begun.signal()
      _ = await goOn.opened()
      queue.shutDown(within: .seconds(600)).onSuccess(on: .inline) { left.append($0.count) }
    }
    #expect(await begun.opened())
    future.cancel()
    goOn.signal()
    #expect(await eventually { left.entries == [0] })
    #expect(await queue.isEmptyEventually())
  }

  @Test("Closures cancelled while the queue starts them: the queue becomes empty")
  func cancelledWhileStarting() async {
    let queue = OperationQueue.make(limit: 1)
    for _ in 0..<1_000 {
      let (first, started) = (queue.run { () async in }, Counter())
      // Spins for a different time each round.
      let canceller = Thread {
        while !first.isExecuting, !first.isSettled, started.value < 100 { started.add() }
        first.cancel()
      }
      canceller.start()
      _ = await first.completion
    }
    #expect(await queue.isEmptyEventually())
  }

  @Test("The last consumer is cancelled: the closure's task is cancelled too")
  func lastConsumer() async {
    let queue = OperationQueue.make(limit: 1)
    let (started, ended) = (Event(), Event())
    let future = queue.run {
      started.signal()
      try? await Task.sleep(for: .seconds(600))
      ended.signal()
    }
    let mapped = future.mapToValue(on: .inline) { 1 }
    #expect(await started.opened())
    mapped.cancel()
    #expect(await ended.opened())
    #expect(future.isCancelled)
  }

  @Test("A barrier after a future that then depends on the barrier: a cycle, and the barrier runs")
  func barrierInCycle() async throws {
    for isBarrier in [true, false] {
      let queue = OperationQueue.make()
      let source = Promises.make(promising: Int.self)
      let dependency = source.mapToValue(on: .inline) { $0 }
      let barrier = queue.run(barrier: isBarrier, after: dependency) { () async throws -> Int in 1 }
      #expect("\(barrier.explain())".contains("AsyncRunTests.swift"))
      dependency.addDependency(barrier)
      source.succeed(with: 1)
      guard case .cycle? = await dependency.completion.failureValue as? ProperationsError else {
        Issue.record("\(String(describing: dependency.result))")
        return
      }
      #expect(try await barrier.value == 1)
    }
  }

  @Test("Operations that depend on a barrier which itself waits for another: they come after it")
  func dependentsOfLateBarrier() async throws {
    for limit in [1, 4] {
      let (queue, log) = (OperationQueue.make(limit: limit), Log<String>())
      let source = Promises.make(promising: Int.self)
      let barrier = queue.run(barrier: true, after: source) { () async in log.append("barrier") }
      let async = queue.run(after: barrier) { () async in log.append("async") }
      let plain = BlockOperation { log.append("plain") }
      plain.addDependency(barrier)
      let second = BlockOperation { log.append("second") }
      second.addDependency(plain)
      queue.addOperation(second)
      queue.addOperation(plain)
      let member = barrier.mapToValue(on: queue) { _ in log.append("member") }
      try queue.addFuture(member)
      let (mayEnd, other) = (Promises.make(promising: Int.self), Promise<Int>())
      try queue.addFuture(other)
      let before = queue.run { () async throws in _ = try await mayEnd.value }
      #expect(await eventually { before.isExecuting })
      source.succeed(with: 1)
      #expect(!(await eventually(within: .milliseconds(50)) { barrier.isSettled }))
      mayEnd.succeed(with: 1)
      #expect(!(await eventually(within: .milliseconds(50)) { barrier.isSettled }))
      other.succeed(with: 1)
      try await barrier.value
      try await async.value
      try await member.value
      #expect(await eventually { second.isFinished })
      #expect(log.entries.first == "barrier" && log.count == 5)
      #expect(await queue.isEmptyEventually())
    }
  }

  @Test("All operations are cancelled while an async barrier runs: what comes later waits for it")
  func cancelAllBesideBarrier() async throws {
    for round in 1...3 {
      let (queue, log, mayEnd) = (OperationQueue.make(limit: 2), Log<String>(), Event())
      let begun = Event()
      let barrier = queue.run(barrier: true) { () async in
        log.append("barrier begins")
        begun.signal()
        #expect(await mayEnd.opened())
        log.append("barrier ends")
      }
      #expect(await begun.opened())
      for _ in 0..<round { queue.cancelAllOperations() }
      #expect(barrier.isCancelled)
      let behind = (0..<3).map { number in queue.run { () async in log.append("\(number)") } }
      queue.addOperation { log.append("plain") }
      #expect(!(await eventually(within: .milliseconds(50)) { log.count > 1 }))
      mayEnd.signal()
      for future in behind { try await future.value }
      #expect(await eventually { log.count == 6 })
      #expect(log.entries.prefix(2) == ["barrier begins", "barrier ends"])
      #expect(await queue.isEmptyEventually())
    }
  }

  // MARK: Waiting for the own queue

  @Test("A serial queue, waited for in its own closure: the await throws wouldDeadlock")
  func ownQueue() async throws {
    let queue = OperationQueue.make("mine", limit: 1)
    let inner = queue.run {
      try await queue.run { 1 }.value
    }
    let error = await inner.completion.failureValue as? ProperationsError
    #expect(error == .wouldDeadlock(queue: "the operation queue \"mine\""))
    let mapped = queue.run {
      try await Promises.makeSucceeded(with: 1).mapToValue(on: queue) { $0 }.value
    }
    #expect(await mapped.completion.failureValue as? ProperationsError == error)
    let gate = Promise<Int>()
    let late = queue.run {
      try await gate.mapToValue(on: queue) { $0 }.value
    }
    #expect(await eventually { late.isExecuting })
    gate.succeed(with: 1)
    #expect(await late.completion.failureValue as? ProperationsError == error)
    #expect(try await queue.run { 2 }.value == 2, "the queue goes on")
  }

  @Test(
    "A wait for the own queue in an inline handler of the closure's future: wouldDeadlock",
    arguments: [false, true])
  func ownQueueInHandler(isFailing: Bool) async throws {
    let queue = OperationQueue.make("mine", limit: 1)
    let (gate, hasReturned) = (Event(), Event())
    let first: Future<Int> = queue.run { () async throws in
      #expect(await gate.opened())
      if isFailing { throw TestError.first }
      return 1
    }
    let errors = Box<[any Error]>([])
    let handled = first.onCompletion(on: .inline) { _ in
      do {
        _ = try queue.run { 2 }.wait(timeout: Event.patience)
      } catch {
        errors.value.append(error)
      }
      hasReturned.signal()
    }
    gate.signal()
    #expect(await hasReturned.opened())
    withExtendedLifetime(handled) {}
    #expect(
      errors.value as? [ProperationsError]
        == [.wouldDeadlock(queue: "the operation queue \"mine\"")])
    #expect(try await queue.run { 3 }.value == 3, "the queue goes on")
  }

  @Test("A queue is shut down in an inline handler of its closure: the closure is no hindrance")
  func shutDownInHandler() async throws {
    let queue = OperationQueue.make(limit: 1)
    let gate = Event()
    let first = queue.run { () async in #expect(await gate.opened()) }
    let left = Box<[Operation]?>(nil)
    let handled = first.mapToValue(on: .inline) { _ in
      left.value = try queue.shutDown(within: .seconds(600)).wait(timeout: Event.patience)
    }
    gate.signal()
    _ = try await handled.value
    #expect(left.value?.isEmpty == true)
  }

  @Test("Two slots whose closures both wait for a third: one of them fails, the other gets it")
  func allSlots() async throws {
    let queue = OperationQueue.make(limit: 2)
    let third = Box<Future<Int>?>(nil)
    let gate = Event()
    let both = (0..<2).map { _ in
      queue.run {
        await gate.opened()
        return try await third.value?.value
      }
    }
    #expect(await eventually { both.allSatisfy(\.isExecuting) })
    third.value = queue.run { 3 }
    gate.signal()
    let results = [await both[0].completion, await both[1].completion]
    #expect(
      results.contains { result in
        if case .wouldDeadlock? = result.failureValue as? ProperationsError { true } else { false }
      })
    #expect(try await third.value?.value == 3)
  }

  #if !canImport(Darwin)
    @Test(
      "A wait for a barrier behind the closure, or for what is behind the barrier: wouldDeadlock",
      arguments: [1, 2, OperationQueue.defaultMaxConcurrentOperationCount], 0..<4)
    func barrierBehind(limit: Int, kind: Int) async throws {
      let (isAsync, isBehind) = (kind % 2 == 0, kind / 2 == 0)
      for isAsyncBarrier in [true, false] {
        let queue = OperationQueue.make("mine", limit: limit)
        let gate = Promise<Future<Int>>()
        let (begun, mayWait) = (Event(), Event())
        let first: Future<Int> =
          isAsync
          ? queue.run { () async throws -> Int in
            begun.signal()
            #expect(await mayWait.opened())
            return try await gate.value.value
          }
          : queue.run { () throws -> Int in
            begun.signal()
            mayWait.wait()
            return try gate.wait().wait()
          }
        #expect(await begun.opened())
        let barrier =
          isAsyncBarrier
          ? queue.run(barrier: true) { () async in 1 } : queue.run(barrier: true) { 1 }
        let behind = isAsyncBarrier ? queue.run { () async in 2 } : queue.run { 2 }
        gate.succeed(with: isBehind ? behind : barrier)
        mayWait.signal()
        let error = await first.completion.failureValue as? ProperationsError
        #expect(error == .wouldDeadlock(queue: "the operation queue \"mine\""))
        #expect(try await (barrier.value, behind.value) == (1, 2))
      }
    }
  #endif

  /// A closure that waits for a future when it may, in a task or on its thread.
  private func waiter(
    in queue: OperationQueue, isAsync: Bool, _ begun: Event, _ mayWait: Event,
    for make: @escaping @Sendable () -> Future<Int>
  ) -> Future<Int> {
    isAsync
      ? queue.run { () async throws -> Int in
        begun.signal()
        #expect(await mayWait.opened())
        return try await make().value
      }
      : queue.run { () throws -> Int in
        begun.signal()
        mayWait.wait()
        return try make().wait(timeout: Event.patience)
      }
  }

  @Test(
    "A wait for a barrier that came later, and does not wait for the closure: the value",
    arguments: [true, false])
  func lateBarrier(isAsync: Bool) async throws {
    let queue = OperationQueue.make(limit: 3)
    let (source, mayEnd, begun) = (Promise<Int>(), Event(), Event())
    let front = queue.run { () async in
      begun.signal()
      #expect(await mayEnd.opened())
    }
    #expect(await begun.opened())
    let barrier = queue.run(barrier: true, after: source) { () async in 1 }
    let mayWait = Event()
    mayWait.signal()
    let first = waiter(in: queue, isAsync: isAsync, Event(), mayWait) { barrier }
    #expect(await eventually { Graph.closesCycle(barrier, waitingFor: first) })
    source.succeed(with: 1)
    // (Long enough for several looks.)
    #expect(!(await eventually(within: .seconds(1)) { first.isSettled }))
    mayEnd.signal()
    #expect(try await first.value == 1)
    try await front.value
    #expect(await queue.isEmptyEventually())
  }

  #if !canImport(Darwin)
    @Test(
      "A wait for a barrier that came later, and waits for the closure: wouldDeadlock",
      arguments: [true, false])
    func lateBarrierInFront(isAsync: Bool) async throws {
      for kind in 0..<4 { try await lateBarrierInFront(isAsync, kind) }
    }

    private func lateBarrierInFront(_ isAsync: Bool, _ kind: Int) async throws {
      let queue = OperationQueue.make("mine", limit: 4)
      let (source, second, begun, mayWait) = (Promise<Int>(), Promise<Int>(), Event(), Event())
      let barrier = queue.run(barrier: true, after: source) { () async in 1 }
      let other = Box<Future<Int>?>(nil)
      let beside = BlockOperation {}
      let held = BlockOperation {}
      beside.addDependency(held)
      let first = waiter(in: queue, isAsync: isAsync, begun, mayWait) { other.value ?? barrier }
      #expect(await begun.opened())
      switch kind {
      case 0:
        // The barrier enters the queue before the closure waits, so it waits for the closure.
        source.succeed(with: 1)
        mayWait.signal()
      case 1:
        // What is behind such a barrier needs the closure, too.
        source.succeed(with: 1)
        #expect(await eventually { queue.operations.contains { $0 is BarrierOperation } })
        other.value = queue.run { 2 }
        mayWait.signal()
      case 2:
        // The barrier waits for an operation that comes to wait for the closure.
        queue.addOperation(beside)
        mayWait.signal()
        #expect(await eventually { Graph.closesCycle(barrier, waitingFor: first) })
        source.succeed(with: 1)
        beside.addDependency(first)
        held.start()
      default:
        // Another barrier is between, which waits for the closure.
        let between = queue.run(barrier: true) { () async in 3 }
        other.value = queue.run(barrier: true, after: second) { () async in 4 }
        second.succeed(with: 1)
        mayWait.signal()
        source.succeed(with: 1)
        withExtendedLifetime(between) {}
      }
      let error = await first.completion.failureValue as? ProperationsError
      #expect(error == .wouldDeadlock(queue: "the operation queue \"mine\""), "\(kind)")
      #expect(try await barrier.value == 1)
      #expect(await queue.isEmptyEventually())
    }

    @Test("A late barrier that waits for what is behind it: wouldDeadlock")
    func behindLateBarrier() async throws {
      let queue = OperationQueue.make("mine", limit: 4)
      let (source, gate, begun) = (Promise<Int>(), Promise<Future<Int>>(), Event())
      let barrier = queue.run(barrier: true, after: source) { () async throws -> Int in
        begun.signal()
        return try await gate.value.value
      }
      source.succeed(with: 1)
      #expect(await begun.opened())
      let behind = queue.run { 2 }
      gate.succeed(with: behind)
      let error = await barrier.completion.failureValue as? ProperationsError
      #expect(error == .wouldDeadlock(queue: "the operation queue \"mine\""))
      #expect(try await behind.value == 2)
    }

    @Test(
      "A barrier that comes after the wait for it began, in a queue without a limit: wouldDeadlock",
      arguments: [true, false])
    func laterBarrier(isAsync: Bool) async throws {
      let (queue, gate) = (OperationQueue.make("mine", limit: -1), Promise<Int>())
      let link = gate.mapToFuture(on: .inline) { _ in queue.run(barrier: true) { 1 } }
      let mayWait = Event()
      mayWait.signal()
      let first = waiter(in: queue, isAsync: isAsync, Event(), mayWait) { link }
      #expect(await eventually { link.hasWaiters })
      // (The first look has passed.)
      #expect(!(await eventually(within: .milliseconds(50)) { first.isSettled }))
      gate.succeed(with: 1)
      let error = await first.completion.failureValue as? ProperationsError
      #expect(error == .wouldDeadlock(queue: "the operation queue \"mine\""))
      #expect(try await link.value == 1)
    }
  #endif

  @Test("A barrier, and a wait for what is in front of it, or for a promise: no mistake")
  func barrierAndWayOut() async throws {
    let queue = OperationQueue.make(limit: 3)
    let (promise, mayEnd, begun) = (Promise<Int>(), Event(), Event())
    let front = queue.run { () async in
      #expect(await mayEnd.opened())
      return 1
    }
    let member = Promises.make(promising: Int.self, in: queue)
    let first = queue.run { () async throws in
      begun.signal()
      return try await front.value + promise.value + member.value
    }
    #expect(await begun.opened())
    let barrier = queue.run(barrier: true) { () async in 1 }
    let later = Promises.make(promising: Int.self, in: queue)
    let second = Task { try await later.value }
    #expect(!(await eventually(within: .milliseconds(50)) { first.isSettled }))
    mayEnd.signal()
    promise.succeed(with: 2)
    member.succeed(with: 3)
    #expect(try await first.value == 6)
    later.succeed(with: 4)
    #expect(try await (barrier.value, second.value) == (1, 4))
  }

  @Test("A free slot: waiting for another closure of the queue is no mistake")
  func freeSlot() async throws {
    let queue = OperationQueue.make(limit: 2)
    let outer = queue.run {
      try await queue.run {
        await Task.yield()
        return 1
      }.value
    }
    #expect(try await outer.value == 1)
  }

  @Test("Two closures that await each other's future: one await throws a cycle")
  func cycle() async throws {
    let queue = OperationQueue.make(limit: 2)
    let other = Box<Future<Int>?>(nil)
    let gate = Event()
    let first = queue.run { () async throws -> Int in
      await gate.opened()
      guard let other = other.value else { return 0 }
      return try await other.value + 1
    }
    let second = queue.run { () async throws -> Int in
      await gate.opened()
      return try await first.value + 1
    }
    other.value = second
    gate.signal()
    let results = [await first.completion, await second.completion]
    #expect(
      results.contains { result in
        if case .cycle? = result.failureValue as? ProperationsError { true } else { false }
      })
    let own = Box<Future<Int>?>(nil)
    let start = Event()
    let alone = queue.run { () async throws -> Int in
      await start.opened()
      guard let own = own.value else { return 0 }
      return try await own.value
    }
    own.value = alone
    start.signal()
    guard case .cycle? = await alone.completion.failureValue as? ProperationsError else {
      Issue.record("\(alone)")
      return
    }
  }

  /// Awaits in a closure what is made from the future of the closure; what the await comes to.
  private func awaitInOwnClosure(
    limit: Int, for make: (Future<Int>) -> Future<Int>,
    _ isWaiting: (_ awaited: Future<Int>, _ outcome: Future<Int>) async -> Void
  ) async -> FutureResult<Int> {
    let (awaited, start, outcome) = (Box<Future<Int>?>(nil), Event(), Promise<Int>())
    let future = OperationQueue.make(limit: limit).run { () async -> Int in
      await start.opened()
      if let future = awaited.value { outcome.fulfill(with: await future.completion) }
      return 1
    }
    let made = make(future)
    awaited.value = made
    start.signal()
    await isWaiting(made, outcome)
    defer { awaited.value = nil }
    _ = await future.completion
    return await outcome.completion
  }

  private static let limits = [1, OperationQueue.defaultMaxConcurrentOperationCount]

  @Test("A race of the closure's own future that another future wins: the value", arguments: limits)
  func raceOfItself(_ limit: Int) async {
    let other = Promise<Int>()
    let result = await awaitInOwnClosure(limit: limit) {
      Promises.race([$0.mapToValue(on: .inline) { $0 }, other], cancellingLosers: false)
    } _: { race, outcome in
      #expect(await eventually { race.hasWaiters })
      #expect(!(await eventually(within: .milliseconds(50)) { outcome.isSettled }))
      other.succeed(with: 7)
    }
    #expect(result.successValue == 7)
  }

  @Test("A race of the closure's own future whose other input fails: a cycle", arguments: limits)
  func lostRaceOfItself(_ limit: Int) async {
    let (other, site) = (Promise<Int>(), Box<CreationSite?>(nil))
    let result = await awaitInOwnClosure(limit: limit) {
      Promises.race([$0.mapToValue(on: .inline) { $0 }, other], cancellingLosers: false)
    } _: { race, outcome in
      site.value = race.createdAt
      #expect(!(await eventually(within: .milliseconds(50)) { outcome.isSettled }))
      other.fail(with: TestError.first)
    }
    #expect(
      result.failureValue as? ProperationsError == site.value.map { .cycle(createdAt: $0) })
  }

  @Test("The closure's own future with a time limit: what the limit gives", arguments: limits)
  func limitedItself(_ limit: Int) async {
    let result = await awaitInOwnClosure(limit: limit) {
      $0.timeout(after: .milliseconds(100), fallback: 7)
    } _: { _, _ in
    }
    #expect(result.successValue == 7)
  }

  @Test("A task that the closure starts and leaves: may wait for the queue")
  func otherTask() async throws {
    let queue = OperationQueue.make(limit: 1)
    let inner = try await queue.run {
      Task { try await queue.run { 5 }.value }
    }.value
    #expect(try await inner.value == 5)
  }

  @Test("An await that is cancelled in a closure: ends with CancellationError")
  func cancelledAwait() async throws {
    let queue = OperationQueue.make(limit: 1)
    let (promise, started, seen) = (Promise<Int>(), Event(), Box<Bool?>(nil))
    let ended = Event()
    let future = queue.run {
      started.signal()
      do { _ = try await promise.value } catch { seen.value = error is CancellationError }
      ended.signal()
    }
    #expect(await started.opened())
    future.cancel()
    #expect(await ended.opened())
    #expect(seen.value == true)
    #expect(!promise.isFulfilled)
  }

  /// Runs the jobs of tasks on a queue that a test may suspend.
  private final class HeldExecutor: TaskExecutor {
    let queue = DispatchQueue(label: "held")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  @Test("An await has ended, and no thread goes on with the task: it counts no more as a wait")
  func endedAwait() async {
    for isCancelled in [true, false] {
      let (queue, executor) = (OperationQueue.make(limit: 1), HeldExecutor())
      let gate = Promise<Int>()
      let future = queue.run { () async throws -> Int in
        try await withTaskExecutorPreference(executor) {
          try await gate.mapToValue(on: queue) { $0 }.value
        }
      }
      #expect(await eventually { BlockedQueues.areAllSlotsBlocked(of: queue) })
      executor.queue.suspend()
      if isCancelled { future.cancel() } else { gate.succeed(with: 1) }
      #expect(await eventually { !BlockedQueues.areAllSlotsBlocked(of: queue) })
      executor.queue.resume()
      let error = await future.completion.failureValue as? ProperationsError
      #expect(isCancelled ? error == .cancelled : error?.isDeadlock == true)
      gate.cancel()
      #expect(await queue.isEmptyEventually())
    }
  }

  // MARK: Where it runs

  @Test("Task-local values of the caller: the closure sees them")
  func taskLocals() async throws {
    let queue = OperationQueue.make(limit: 1)
    let future = Trace.$name.withValue("caller") {
      queue.run { () async in Trace.name }
    }
    #expect(try await future.value == "caller")
  }

  @Test(
    "A closure: has the quality of service of its queue, whoever calls",
    arguments: [
      (QualityOfService.default, TaskPriority.medium), (.userInitiated, .userInitiated),
      (.utility, .utility), (.background, .background),
    ])
  func priority(_ quality: QualityOfService, _ priority: TaskPriority) async throws {
    let queue = OperationQueue.make()
    queue.qualityOfService = quality
    @Sendable func found() async throws -> TaskPriority {
      let future = queue.run {
        await Task.yield()
        return Task.currentPriority
      }
      return try await future.value
    }
    #expect(try await Task(priority: .high) { try await found() }.value == priority)
  }

  @MainActor
  @Test("A closure that is written in an actor: runs there, and holds the slot")
  func isolation() async throws {
    let queue = OperationQueue.make(limit: 1)
    var seen: [Int] = []
    let future = queue.run {
      MainActor.preconditionIsolated()
      await Task.yield()
      seen.append(1)
    }
    let last = queue.run { 2 }
    #expect(try await last.value == 2)
    #expect(seen == [1] && future.isFulfilled)
  }
}

extension ProperationsError {
  fileprivate var isDeadlock: Bool { if case .wouldDeadlock = self { true } else { false } }
}
