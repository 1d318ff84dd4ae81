import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Promises.lazy", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesLazyTests {
  /// A way to use a future, and whether that starts the work.
  struct Observation: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let starts: Bool
    let observe: @Sendable (Future<Int>) async throws -> Void

    private init(
      _ name: String, starts: Bool,
      _ observe: @escaping @Sendable (Future<Int>) async throws -> Void
    ) {
      testDescription = name
      self.starts = starts
      self.observe = observe
    }

    static let all = [
      Observation("a derived future", starts: true) { _ = $0.mapToValue(on: .inline) { $0 } },
      Observation("a handler", starts: true) { $0.onSuccess(on: .inline) { _ in } },
      Observation("a handler for cancellation", starts: true) { $0.onCancel(on: .inline) {} },
      Observation("await", starts: true) { _ = try await $0.value },
      Observation("a thread that waits", starts: true) { future in
        _ = try await SmallStackThread.running { try future.wait(timeout: .seconds(60)) }
      },
      Observation("a thread that waits for the operation", starts: true) { future in
        try await SmallStackThread.running { future.waitUntilFinished() }
      },
      Observation("an operation that depends on it", starts: true) { future in
        // The module's own method returns the operation; Foundation's method returns
        // nothing.
        _ = BlockOperation {}.addDependency(future)
      },
      Observation("a future that depends on it", starts: true) { future in
        Promise<Int>().addDependency(future)
      },
      Observation("a collection", starts: true) { _ = Promises.collect([$0]) },
      Observation("a closure that returns it", starts: true) { future in
        _ = Promises.makeSucceeded().mapToFuture(on: .inline) { future }
      },
      Observation("a promise that settles like it", starts: true) { future in
        Promise<Int>().fulfill(from: future)
      },
      Observation("a queue, as a member", starts: true) { try OperationQueue().addFuture($0) },
      Observation("a queue, as an operation", starts: true) { OperationQueue().addOperation($0) },
      Observation("its properties", starts: false) { future in
        _ = (future.isReady, future.isFulfilled, future.result == nil, future.debugDescription)
      },
      Observation("a scope", starts: false) { $0.cancelled(by: CancellationScope()) },
      Observation("a name and a priority", starts: false) { future in
        future.name = "lazy"
        future.queuePriority = .high
      },
    ]
  }

  @Test(arguments: Observation.all)
  func `it starts when it is observed, once`(_ observation: Observation) async throws {
    let runs = Counter()
    let future = Promises.lazy(on: .inline) {
      runs.add()
      return Promises.makeSucceeded(with: 7)
    }
    #expect(runs.value == 0)
    try await observation.observe(future)
    #expect(runs.value == (observation.starts ? 1 : 0))
    #expect(try await future.value == 7)
    #expect(runs.value == 1)
  }

  @Test @MainActor func `without a context the closure runs on the main actor`() async throws {
    var runs = 0
    let future = Promises.lazy {
      MainActor.preconditionIsolated()
      runs += 1
      return Promises.makeSucceeded(with: 7)
    }
    _ = future.mapToValue { $0 }
    #expect(runs == 0)
    #expect(try await future.value == 7)
    #expect(runs == 1)
  }

  @Test func `it settles like the future of the closure`() {
    let failed = Promises.lazy(on: .inline) {
      Promises.makeFailed(with: TestError.first, promising: Int.self)
    }
    #expect(failed.mapToVoid().error as? TestError == .first)
    let thrown = Promises.lazy(on: .inline) { () -> Future<Int> in throw TestError.second }
    #expect(thrown.mapToVoid().error as? TestError == .second)
    let promise = Promise<Int>()
    let pending = Promises.lazy(on: .inline) { promise }
    let derived = pending.mapToValue(on: .inline) { $0 + 1 }
    promise.succeed(with: 1)
    #expect(derived.result?.successValue == 2)
    let broken = Promises.lazy(on: .inline) { Promise<Int>() }.mapToVoid()
    guard case .brokenPromise? = broken.error as? ProperationsError else {
      Issue.record("\(broken)")
      return
    }
  }

  @Test func `cancelled before it is observed it never runs`() {
    let tracker = LifetimeTracker()
    let runs = Counter()
    let object = tracker.make()
    let future = Promises.lazy(on: .inline) { [object] in
      object.touch()
      runs.add()
      return Promises.makeSucceeded(with: 7)
    }
    future.cancel()
    #expect(future.mapToValue(on: .inline) { $0 }.isCancelled)
    #expect(runs.value == 0)
  }

  @Test func `its last consumer cancels the work, and so does it itself`() {
    for isLast in [true, false] {
      let promise = Promise<Int>()
      let future = Promises.lazy(on: .inline) { promise }
      let derived = future.mapToValue(on: .inline) { $0 }
      if isLast { derived.cancel() } else { future.cancel() }
      #expect(promise.isCancelled && derived.isCancelled)
    }
  }

  @Test func `unobserved, settled or dropped it lets go`() async throws {
    let tracker = LifetimeTracker()
    func make(_ context: some ExecutionContext) -> Future<Int> {
      let object = tracker.make()
      return Promises.lazy(on: context) {
        object.touch()
        return Promises.makeSucceeded(with: 7)
      }
    }
    _ = make(.inline)
    #expect(tracker.alive == 0)
    let cancelled = make(.inline)
    cancelled.cancel()
    #expect(tracker.alive == 0)
    let observed = make(.inline)
    #expect(try await observed.value == 7)
    // (The thread that settled it is letting go of the closure just now.)
    #expect(await eventually { tracker.alive == 0 })
    let dropping = ManualContext()
    let derived = make(dropping).mapToVoid()
    dropping.dropAll()
    #expect(derived.isFulfilled)
    #expect(tracker.alive == 0)
  }

  @Test func `it goes on when its maker has dropped it`() async throws {
    let context = ManualContext()
    let done = Log<Int>()
    Promises.lazy(on: context) { Promises.makeSucceeded(with: 7) }
      .onSuccess(on: .inline) { done.append($0) }
    #expect(done.count == 0)
    context.runAll()
    #expect(done.entries == [7])
  }

  @Test func `its own future in its closure is a cycle`() {
    let own = Box<Future<Int>?>(nil)
    let future = Promises.lazy(on: .inline) { own.value ?? Promise<Int>() }
    own.value = future
    let derived = future.mapToVoid()
    own.value = nil
    guard case .cycle? = derived.error as? ProperationsError else {
      Issue.record("\(derived)")
      return
    }
  }

  @Test func `8 threads observe it: it starts once`() async {
    let wrong = Counter()
    let isDone = await RaceHarness(threads: 8, rounds: 1_000).run { _ -> (Counter, Future<Int>) in
      let runs = Counter()
      let future = Promises.lazy(on: .inline) {
        runs.add()
        return Promises.makeSucceeded(with: 7)
      }
      return (runs, future)
    } act: { subject, _ in
      subject.1.onSuccess(on: .inline) { _ in }
    } check: { subject, _ in
      if subject.0.value != 1 { wrong.add() }
    }
    #expect(isDone)
    #expect(wrong.value == 0)
  }

  @Test func `30,000 nested lazies settle, are cancelled and are released on a small stack`()
    async throws
  {
    for ending in 0..<3 {
      let isSettled = try await SmallStackThread.running(within: .seconds(240)) { () -> Bool in
        let promise = Promise<Int>()
        var future: Future<Int> = promise
        for _ in 0..<30_000 {
          let inner = future
          future = Promises.lazy(on: .inline) { inner }
        }
        if ending == 2 { return true }
        let last = future.mapToValue(on: .inline) { $0 }
        if ending == 0 { promise.succeed(with: 1) } else { last.cancel() }
        return last.isFulfilled
      }
      #expect(isSettled)
    }
  }

  @Test func `a closure waits for an inline lazy: the work runs in the wait`() async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let value = queue.run {
      try Promises.lazy(on: .inline) { Promises.makeSucceeded(with: 1) }.wait(timeout: .seconds(60))
    }
    #expect(await value.completion.successValue == 1)
    let operation = queue.run {
      let lazy = Promises.lazy(on: .inline) { Promises.makeSucceeded(with: 2) }
      lazy.waitUntilFinished()
      return lazy.result?.successValue
    }
    #expect(await operation.completion.successValue == .some(2))
  }

  @Test func `a lazy that needs the serial queue whose closure waits for it: the wait throws`()
    async
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let value = queue.run {
      try Promises.lazy(on: .inline) { queue.run { 1 } }.wait(timeout: .seconds(60))
    }
    guard case .wouldDeadlock? = await value.completion.failureValue as? ProperationsError else {
      Issue.record("\(await value.completion)")
      return
    }
  }
}
