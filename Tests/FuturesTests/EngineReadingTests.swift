import Foundation
import Futures
import Synchronization
import TestSupport
import Testing

/// Runs a closure when it is released.
private final class AtEnd: Sendable {
  private let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  deinit { body() }
}

/// Keeps what it is given, after it has called a closure.
private final class LateContext: ExecutionContext {
  private let body: @Sendable () -> Void
  private let kept = Log<Operation>()
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  func execute(_ operation: Operation) {
    kept.append(operation)
    body()
  }
}

/// Runs what it is given at once, and a closure before that.
private final class TalkativeContext: ExecutionContext {
  private let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  func execute(_ operation: Operation) {
    body()
    operation.start()
  }
}

private func serialQueue() -> OperationQueue {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  return queue
}

/// What a reading of the engine of one day suspected.
@Suite("What a reading of the engine suspected", .timeLimit(.minutes(5)), .oneAtATime)
struct EngineReadingTests {
  // MARK: Order

  /// What two handlers on a serial queue have noted, of a future of that queue which
  /// settles when they have been added.
  ///
  /// - Parameter add: Gets the future, the queue, the notes, and a closure that blocks
  ///   its thread for a while.
  private func notes(
    _ add: (Future<Void>, OperationQueue, Log<String>, @escaping @Sendable () -> Void) -> Void
  ) async -> [String] {
    let queue = serialQueue()
    queue.isSuspended = true
    let log = Log<String>()
    let pending = Promise<Int>()
    let first = Promises.run(on: queue) {}
    add(first, queue, log) { _ = try? pending.wait(timeout: .milliseconds(20)) }
    queue.isSuspended = false
    _ = await eventually { log.count == 2 }
    return log.entries
  }

  @Test func `handlers keep their order when a context blocks between them`() async {
    let notes = await notes { first, queue, log, block in
      first.onSuccess(on: queue) { _ in log.append("a") }
      first.onSuccess(on: LateContext(block)) { _ in }
      first.onSuccess(on: queue) { _ in log.append("b") }
    }
    #expect(notes == ["a", "b"])
  }

  @Test func `a handler added in a closure on the queue comes after those that wait there`()
    async
  {
    let queue = serialQueue()
    queue.isSuspended = true
    let log = Log<String>()
    let promise = Promise<Int>()
    promise.onSuccess(on: queue) { _ in log.append("a") }
    _ = Promises.run(on: queue) { promise.onSuccess(on: queue) { _ in log.append("b") } }
    promise.succeed(with: 1)
    queue.isSuspended = false
    _ = await eventually { log.count == 2 }
    #expect(log.entries == ["a", "b"])
  }

  @Test func `a handler added in a closure on a dispatch queue comes after those that wait there`()
    async
  {
    let queue = DispatchQueue(label: "serial")
    queue.suspend()
    let log = Log<String>()
    let promise = Promise<Int>()
    promise.onSuccess(on: queue) { _ in log.append("a") }
    _ = Promises.run(on: queue) { promise.onSuccess(on: queue) { _ in log.append("b") } }
    promise.succeed(with: 1)
    queue.resume()
    _ = await eventually { log.count == 2 }
    #expect(log.entries == ["a", "b"])
  }

  // MARK: Hangs

  @Test func `a cancelled closure that waits for what depends on its end gets a cycle`() async {
    let (begun, go) = (Event(), Event())
    let other = Promise<Int>()
    let box = Box<Future<Int>?>(nil)
    let answer = Promise<Int>()
    let first = Promises.run(on: ThreadContext()) {
      begun.signal()
      go.wait()
      if let second = box.value {
        answer.fulfill(with: FutureResult { try second.wait(timeout: Event.patience) })
      }
    }
    await begun.opened()
    let second = other.mapToValue(on: .inline) { $0 }
    second.addDependency(first)
    box.value = second
    other.succeed(with: 1)
    first.cancel()
    go.signal()
    let error = await answer.completion.failureValue as? ProperationsError
    #expect(error == .cycle(createdAt: second.createdAt))
    box.value = nil
  }

  #if os(Linux) || os(macOS)
    @Test func `a cancelled closure that waits until it has itself finished is stopped`() async {
      await #expect(processExitsWith: .failure) {
        let box = Box<AnyFuture?>(nil)
        let (go, done) = (Event(), Event())
        let future = Promises.run(on: ThreadContext()) {
          go.wait()
          box.value?.cancel()
          box.value?.waitUntilFinished()
          done.signal()
        }
        box.value = future
        go.signal()
        // A hang is no failure of the process.
        _ = await done.opened()
      }
    }

    @Test func `waiting on a serial queue until a settled promise in it has finished is stopped`()
      async
    {
      await #expect(processExitsWith: .failure) {
        let queue = serialQueue()
        let (go, done) = (Event(), Event())
        let promise = Promise<Int>()
        _ = Promises.run(on: queue) {
          go.wait()
          promise.succeed(with: 1)
          promise.waitUntilFinished()
          done.signal()
        }
        queue.addOperation(promise)
        go.signal()
        _ = await done.opened()
      }
    }
  #endif

  @Test func `waiting on a serial queue for what depends on a settled promise in it is refused`()
    async
  {
    let queue = serialQueue()
    let go = Event()
    let promise = Promise<Int>()
    let dependent = Promises.makeSucceeded(with: 1).mapToValue(on: ManualContext()) { $0 }
    _ = dependent
    let other = Promise<Int>()
    let second = other.mapToValue(on: .inline) { $0 }
    second.addDependency(promise)
    other.succeed(with: 2)
    let answer = Promise<Int>()
    _ = Promises.run(on: queue) {
      go.wait()
      promise.succeed(with: 1)
      answer.fulfill(with: FutureResult { try second.wait(timeout: Event.patience) })
    }
    queue.addOperation(promise)
    go.signal()
    let error = await answer.completion.failureValue as? ProperationsError
    guard case .wouldDeadlock = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  /// Makes two futures, of which the closure of the first waits for the second,
  /// and returns what it gets.
  private func waitForEachOther(
    _ make:
      @escaping @Sendable (_ wait: @escaping @Sendable () throws -> Int) -> (
        second: Future<Int>, settle: () -> Void
      )
  ) async -> FutureResult<Int>? {
    let result = Box<FutureResult<Int>?>(nil)
    let done = Event()
    Thread {
      let second = Box<Future<Int>?>(nil)
      let made = make {
        let outcome = FutureResult { try second.value!.wait(timeout: Event.patience) }
        result.value = outcome
        return try outcome.get()
      }
      second.value = made.second
      made.settle()
      second.value = nil
      done.signal()
    }.start()
    await done.opened()
    return result.value
  }

  @Test func `inline closures of a broken promise may wait for each other`() async throws {
    let result = await waitForEachOther { wait in
      var promise: Promise<Int>? = Promise<Int>()
      let first = promise!.recover(on: .inline) { _ in try wait() }
      let second = promise!.recover(on: .inline) { _ in 2 }
      return (
        second,
        {
          promise = nil; withExtendedLifetime(first) {}
        }
      )
    }
    #expect(result?.successValue == 2)
  }

  @Test func `inline closures behind a released step may wait for each other`() async throws {
    let result = await waitForEachOther { wait in
      let root = Promise<Int>()
      var step: Future<Int>? = Promises.makeSucceeded(with: 0).mapToFuture(on: .inline) { _ in
        root
      }
      let first = step!.mapToValue(on: .inline) { _ in try wait() }
      let second = step!.mapToValue(on: .inline) { $0 + 1 }
      step = nil
      return (
        second,
        {
          root.succeed(with: 1); withExtendedLifetime(first) {}
        }
      )
    }
    #expect(result?.successValue == 2)
  }

  @Test func `a dependency whose release waits for what is downstream gets it`() async throws {
    let result = Box<FutureResult<Int>?>(nil)
    let done = Event()
    Thread {
      let below = Box<Future<Int>?>(nil)
      let promise = Promise<Int>()
      let future = promise.mapToValue(on: .inline) { $0 }
      let queue = OperationQueue()
      func add() {
        let operation = BlockOperation()
        let end = AtEnd {
          result.value = FutureResult { try below.value!.wait(timeout: Event.patience) }
        }
        operation.addExecutionBlock { withExtendedLifetime(end) {} }
        future.addDependency(operation)
        queue.addOperations([operation], waitUntilFinished: true)
      }
      add()
      usleep(100_000)
      below.value = future.mapToValue(on: .inline) { $0 + 1 }
      promise.succeed(with: 1)
      // (Foundation's thread may be the one that releases the operation, later.)
      _ = eventuallyBlocking { result.value != nil }
      below.value = nil
      done.signal()
    }.start()
    await done.opened()
    #expect(result.value?.successValue == 2)
  }

  @Test func `a context that waits while dependents of a finished future are told gets its value`()
    async
  {
    let (begun, go) = (Event(), Event())
    let result = Box<FutureResult<Int>?>(nil)
    let below = Box<Future<Int>?>(nil)
    let first = Promises.run(on: ThreadContext()) {
      begun.signal()
      go.wait()
    }
    await begun.opened()
    let context = TalkativeContext {
      result.value = FutureResult { try below.value!.wait(timeout: Event.patience) }
    }
    let source = Promise<Int>()
    let second = source.mapToValue(on: context) { $0 }
    second.addDependency(first)
    let third = source.mapToValue(on: .inline) { $0 + 1 }
    third.addDependency(first)
    below.value = third
    source.succeed(with: 1)
    first.cancel()
    go.signal()
    _ = await second.completion
    #expect(result.value?.successValue == 2)
    below.value = nil
  }

  @Test func `closures that wait on a global queue for each other's kind are not refused`() async {
    let results = (0..<12).map { index in
      Promises.run(on: .global()) {
        try Promises.run(on: .global()) { index }.wait()
      }
    }
    let all = await Promises.collectResults(results).completion
    let failed = (try? all.get())?.compactMap(\.failureValue) ?? []
    #expect(failed.isEmpty, "\(failed.first.map { "\($0)" } ?? "")")
  }

  // MARK: Lost

  @Test func `an observer taken from a weak reference in its handler has settled`() async {
    final class Holder: @unchecked Sendable {
      weak var weak: Future<Int>?
      var strong: Future<Int>?
    }
    let holder = Holder()
    let promise = Promise<Int>()
    func attach() {
      holder.weak = promise.onSuccess(on: .inline) { _ in holder.strong = holder.weak }
    }
    attach()
    promise.succeed(with: 1)
    #expect(holder.strong?.isFulfilled != false)
  }

  @Test func `an onCancel observer whose consumer stopped waiting does not keep the promise`() async
  {
    let promise = Promise<Int>()
    let observer = promise.onCancel(on: .inline) {}
    let done = Event()
    Thread {
      _ = try? observer.wait(timeout: .milliseconds(10))
      done.signal()
    }.start()
    await done.opened()
    let consumer = promise.mapToValue(on: .inline) { $0 }
    consumer.cancel()
    #expect(promise.isCancelled)
  }

  @Test func `what a sequence settles while it is traversed takes effect at once`() async {
    let seen = Log<Bool>()
    let source = Promise<[Int]>()
    _ = source
    let gates = (0..<3).map { _ in Promise<Int>() }
    let lazySequence = SettlingSequence(seen: seen)
    let start = Promise<SettlingSequence>()
    let all = start.mapElementsToFuture(on: .inline, maxConcurrent: 1) { gates[$0] }
    start.succeed(with: lazySequence)
    for gate in gates { gate.succeed(with: 1) }
    _ = await all.completion
    #expect(seen.entries == [true, true, true])
  }

  // MARK: Depth

  #if os(Linux) || os(macOS)
    @Test func `100,000 promises linked by closures that are never called need no stack`() async {
      await #expect(processExitsWith: .success) {
        // (The sanitizer makes each of them many times slower.)
        #if PROPERATIONS_THREAD_SANITIZER
          let count = 20_000
        #else
          let count = 100_000
        #endif
        try await SmallStackThread.running {
          let first = Promise<Int>()
          var last = first
          for _ in 0..<count {
            let next = Promise<Int>()
            last.onSuccess(on: .inline) { next.succeed(with: $0) }
            last = next
          }
          let tail = last.mapToValue(on: .inline) { $0 }
          last = first
          first.fail(with: TestError.first)
          if !tail.isFulfilled { exit(7) }
        }
      }
    }
  #endif
}

extension EngineReadingTests {
  @Test func `handlers keep their order when an inline closure behind them blocks`() async {
    let notes = await notes { first, queue, log, block in
      first.onSuccess(on: queue) { _ in log.append("a") }
      first.onSuccess(on: queue) { _ in log.append("b") }
      first.onSuccess(on: .inline) { _ in block() }
    }
    #expect(notes == ["a", "b"])
  }

  @Test func `a handler keeps its place before a late one when the closure that adds that blocks`()
    async
  {
    let notes = await notes { first, queue, log, block in
      first.onSuccess(on: queue) { _ in log.append("a") }
      first.onSuccess(on: .inline) { _ in
        first.onSuccess(on: queue) { _ in log.append("late") }
        block()
      }
    }
    #expect(notes == ["a", "late"])
  }

  @Test func `a link in the next place, run early before its thread blocks: goes on as a link`()
    async throws
  {
    // A batch gives its next place away only in its first millisecond. Later the link goes
    // to the queue, whose slot the waiting closure holds. Slow machines need several runs.
    for _ in 0..<1_000 {
      let queue = serialQueue()
      queue.isSuspended = true
      let first = Promises.run(on: queue) { 1 }
      let second = first.mapToValue(on: queue) { $0 + 1 }
      let third = second.mapToValue(on: queue) { $0 + 1 }
      first.onSuccess(on: queue) { _ in }
      let waited = first.mapToValue(on: .inline) { _ in
        Result { try second.wait(timeout: Event.patience) }
      }
      queue.isSuspended = false
      #expect(try await third.value == 3)
      let result = try await waited.value
      if case .failure(ProperationsError.wouldDeadlock) = result { continue }
      #expect(try result.get() == 2)
      return
    }
    Issue.record("The batch has been late 1,000 times.")
  }

  @Test func `the last closure of a batch releases an object that settles: inline handlers run`()
    async
  {
    let queue = serialQueue()
    queue.isSuspended = true
    let (late, ran) = (Promise<Int>(), Event())
    late.onSuccess(on: .inline) { _ in ran.signal() }
    let first = Promises.run(on: queue) {}
    do {
      let object = AtEnd { late.succeed(with: 1) }
      first.onSuccess(on: queue) { _ in withExtendedLifetime(object) {} }
    }
    queue.isSuspended = false
    #expect(await ran.opened())
  }

  #if os(Linux) || os(macOS)
    @Test func `20,000 links, each in a context of its own that runs them at once, need no stack`()
      async
    {
      await #expect(processExitsWith: .success) {
        try await SmallStackThread.running {
          let first = Promise<Int>()
          var last: Future<Int> = first
          for _ in 0..<20_000 { last = last.mapToValue(on: TalkativeContext {}) { $0 + 1 } }
          first.succeed(with: 0)
          if last.result?.successValue != 20_000 { exit(7) }
        }
      }
    }
  #endif
}

private struct SettlingSequence: Sequence, Sendable {
  let seen: Log<Bool>

  struct Iterator: IteratorProtocol {
    let seen: Log<Bool>
    var count = 0
    mutating func next() -> Int? {
      guard count < 3 else { return nil }
      defer { count += 1 }
      let promise = Promise<Int>()
      let below = promise.mapToValue(on: .inline) { $0 }.recover(on: .inline) { _ in 0 }
      promise.fail(with: ProperationsError.ensureFailed)
      let passed = promise.onSuccess(on: .inline) { _ in }
      _ = below
      seen.append(passed.isFulfilled)
      return count
    }
  }

  func makeIterator() -> Iterator { Iterator(seen: seen) }
}
