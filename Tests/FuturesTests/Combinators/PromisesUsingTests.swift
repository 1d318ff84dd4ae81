import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("Promises.using", .timeLimit(.minutes(5)), .oneAtATime)
struct PromisesUsingTests {
  private let released = Log<Int>()

  private func use(
    _ resource: Future<Int>, on context: some ExecutionContext = .inline,
    _ body: @escaping @Sendable (Int) throws -> Future<String>
  ) -> Future<String> {
    Promises.using(acquire: resource, release: { released.append($0) }, on: context, body)
  }

  @Test func `the resource is released after its use, before the result is there`() {
    let (resource, answer) = (Promise<Int>(), Promise<String>())
    let future = use(resource) { _ in answer }
    let count = Box(-1)
    future.onCompletion(on: .inline) { _ in count.value = released.count }
    resource.succeed(with: 7)
    #expect(released.count == 0)
    answer.succeed(with: "answer")
    #expect(future.result?.successValue == "answer")
    #expect(released.entries == [7])
    #expect(count.value == 1)
  }

  @Test func `a use that fails, throws or is cancelled releases it`() {
    let failed = use(Promises.makeSucceeded(with: 1)) { _ in
      Promises.makeFailed(with: TestError.first)
    }
    #expect(failed.error as? TestError == .first)
    let thrown = use(Promises.makeSucceeded(with: 2)) { _ in throw TestError.second }
    #expect(thrown.error as? TestError == .second)
    let promise = Promise<String>()
    let cancelled = use(Promises.makeSucceeded(with: 3)) { _ in promise }
    promise.cancel()
    #expect(cancelled.isCancelled)
    let broken = use(Promises.makeSucceeded(with: 4)) { _ in Promise<String>() }
    #expect(broken.isFulfilled)
    #expect(released.entries == [1, 2, 3, 4])
  }

  @Test func `without a resource there is nothing to use and to release`() {
    let runs = Counter()
    func use(_ resource: Future<Int>) -> Future<String> {
      self.use(resource) { _ in
        runs.add()
        return Promise<String>()
      }
    }
    #expect(use(Promises.makeFailed(with: TestError.first)).error as? TestError == .first)
    let promise = Promise<Int>()
    let pending = use(promise)
    promise.cancel()
    #expect(pending.isCancelled)
    guard case .brokenPromise? = use(Promise<Int>()).error as? ProperationsError else {
      Issue.record("not broken")
      return
    }
    #expect(runs.value == 0 && released.count == 0)
  }

  @Test func `cancelled before the resource is there it cancels that`() {
    let resource = Promise<Int>()
    let future = use(resource) { _ in Promise<String>() }
    future.cancel()
    #expect(future.isCancelled && resource.isCancelled)
    #expect(released.count == 0)
  }

  @Test func `a resource that comes in spite of that is released unused`() {
    let resource = Promise<Int>()
    let other = resource.mapToValue(on: .inline) { $0 }
    let runs = Counter()
    let future = use(resource) { _ in
      runs.add()
      return Promise<String>()
    }
    future.cancel()
    #expect(!resource.isFulfilled)
    resource.succeed(with: 7)
    #expect(released.entries == [7])
    #expect(runs.value == 0)
    withExtendedLifetime(other) {}
  }

  @Test func `cancelled in use it cancels the use, and releases the resource once`() {
    let answer = Promise<String>()
    let future = use(Promises.makeSucceeded(with: 7)) { _ in answer }
    future.cancel()
    #expect(future.isCancelled && answer.isCancelled)
    #expect(released.entries == [7])
    future.cancel()
    answer.succeed(with: "late")
    #expect(released.entries == [7])
  }

  @Test func `a use that others want goes on, and the resource with it`() {
    let answer = Promise<String>()
    let other = answer.mapToValue(on: .inline) { $0 }
    let future = use(Promises.makeSucceeded(with: 7)) { _ in answer }
    future.cancel()
    #expect(future.isCancelled && !answer.isFulfilled)
    #expect(released.count == 0)
    answer.succeed(with: "answer")
    #expect(released.entries == [7])
    withExtendedLifetime(other) {}
  }

  @Test func `cancelled while the closure runs it releases when that has returned`() {
    let context = ManualContext()
    let whole = Box<Future<String>?>(nil)
    let seen = Box(-1)
    let inner = Promise<String>()
    let future = use(Promises.makeSucceeded(with: 7), on: context) { [released] _ in
      whole.value?.cancel()
      seen.value = released.count
      return inner
    }
    whole.value = future
    context.runAll()
    #expect(future.isCancelled && inner.isCancelled)
    #expect(seen.value == 0)
    #expect(released.entries == [7])
    whole.value = nil
  }

  @Test func `a use that needs the result is a cycle, and releases the resource`() {
    let resource = Promise<Int>()
    let whole = Box<Future<String>?>(nil)
    let future = use(resource) { _ in
      whole.value?.mapToValue(on: .inline) { $0 } ?? Promises.makeSucceeded(with: "")
    }
    whole.value = future
    resource.succeed(with: 7)
    guard case .cycle? = future.error as? ProperationsError else {
      Issue.record("\(future)")
      return
    }
    #expect(released.entries == [7])
    whole.value = nil
  }

  @Test func `cancelled while async code uses it: released when that code has returned`() async {
    let (begun, end) = (Event(), Event())
    let future = use(Promises.makeSucceeded(with: 7)) { _ in
      Promises.async {
        begun.signal()
        await end.opened()
        return "answer"
      }
    }
    #expect(await begun.opened())
    future.cancel()
    #expect(future.isCancelled)
    #expect(released.count == 0)
    end.signal()
    #expect(await eventually { released.entries == [7] })
  }

  @Test func `a shielded acquisition goes on, and its resource is released unused`() async {
    for isCancelled in [true, false] {
      let (begun, end) = (Event(), Event())
      let opened = Promises.async {
        begun.signal()
        await end.opened()
        return 7
      }
      let runs = Counter()
      let count = released.count
      let future = Promises.using(
        acquire: opened, shieldingAcquisition: true, release: { [released] in released.append($0) },
        on: .inline
      ) { number -> Future<Int> in
        runs.add()
        return Promises.makeSucceeded(with: number)
      }
      #expect(await begun.opened())
      if isCancelled { future.cancel() }
      #expect(future.isFulfilled == isCancelled && !opened.isFulfilled)
      end.signal()
      #expect(await eventually { released.count == count + 1 })
      #expect(runs.value == (isCancelled ? 0 : 1))
    }
  }

  @Test func `the operations of a queue are cancelled: released all the same`() async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let future = use(Promises.makeSucceeded(with: 7), on: queue) { _ in Promise<String>() }
    #expect(queue.operationCount == 1)
    queue.cancelAllOperations()
    queue.isSuspended = false
    #expect(await future.completion.failureValue as? ProperationsError == .cancelled)
    #expect(await eventually { released.entries == [7] })
  }

  @Test @MainActor func `without a context both closures run on the main actor`() async throws {
    var steps: [String] = []
    let future = Promises.using(
      acquire: Promises.makeSucceeded(with: 7),
      release: { number in
        MainActor.preconditionIsolated()
        steps.append("release \(number)")
      }
    ) { number in
      MainActor.preconditionIsolated()
      steps.append("use \(number)")
      return Promises.makeSucceeded(with: number)
    }
    #expect(try await future.value == 7)
    #expect(steps == ["use 7", "release 7"])
  }

  @Test func `nothing is kept afterwards`() async {
    let tracker = LifetimeTracker()
    for isCancelled in [false, true] {
      let answer = Promise<Int>()
      let future = Promises.using(
        acquire: Promises.makeSucceeded(with: tracker.make()), release: { $0.touch() },
        on: .inline
      ) { object in
        object.touch()
        return answer
      }
      if isCancelled { future.cancel() } else { answer.succeed(with: 1) }
      #expect(future.isFulfilled)
    }
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test func `the resource, the use and the cancellation race: released exactly once`() async {
    let wrong = Counter()
    let isDone = await RaceHarness(threads: 3, rounds: 3_000).run { _ in
      let (resource, answer, count) = (Promise<Int>(), Promise<Int>(), Counter())
      let future = Promises.using(
        acquire: resource, release: { _ in count.add() }, on: .inline
      ) { _ in answer }
      return (resource, answer, count, future)
    } act: { subject, index in
      switch index {
      case 0: subject.0.succeed(with: 1)
      case 1: subject.1.succeed(with: 2)
      default: subject.3.cancel()
      }
    } check: { subject, _ in
      let expected = subject.0.isCancelled ? 0 : 1
      if subject.2.value != expected || !subject.3.isFinished { wrong.add() }
    }
    #expect(isDone)
    #expect(wrong.value == 0)
  }

  @Test func `20,000 nested uses are released on a small stack`() async throws {
    for isCancelled in [false, true] {
      let count = try await SmallStackThread.running(within: .seconds(240)) { () -> Int in
        let (answer, count) = (Promise<Int>(), Counter())
        var future: Future<Int> = answer
        for _ in 0..<20_000 {
          let inner = future
          future = Promises.using(
            acquire: Promises.makeSucceeded(with: 1), release: { count.add($0) }, on: .inline
          ) { _ in inner }
        }
        if isCancelled { future.cancel() } else { answer.succeed(with: 1) }
        return count.value
      }
      #expect(count == 20_000)
    }
  }
}
