import Foundation
import Futures
import TestSupport
import Testing

@Suite("Observers and always", .timeLimit(.minutes(5)), .oneAtATime)
struct FutureEventsTests {
  @Test func `an observer's future is settled before its handler runs`() {
    let context = ManualContext()
    let promise = Promise<Int>()
    let ran = Counter()
    let observers = [
      promise.onSuccess(on: context) { _ in ran.add() },
      promise.onCompletion(on: context) { _ in ran.add() },
    ]
    promise.succeed(with: 1)
    #expect(observers.allSatisfy { $0.result?.successValue == 1 })
    #expect(ran.value == 0)
    context.runAll()
    #expect(ran.value == 2)
  }

  @Test func `always is settled after its closure has run`() {
    let context = ManualContext()
    let promise = Promise<Int>()
    let f = promise.always(on: context) {}
    promise.succeed(with: 1)
    #expect(!f.isFulfilled)
    context.runAll()
    #expect(f.result?.successValue == 1)
  }

  @Test func `always with async work is settled after that work`() async {
    let go = Event()
    let f = Promises.makeSucceeded(with: 1).always { await go.opened() }
    #expect(!f.isFulfilled)
    go.signal()
    #expect(await f.completion.successValue == 1)
  }

  @Test func `cancelling always's future settles it at once, and its async work runs to its end`()
    async
  {
    let (started, go, done) = (Event(), Event(), Event())
    let promise = Promise<Int>()
    let f = promise.always {
      started.signal()
      await go.opened()
      if !Task.isCancelled { done.signal() }
    }
    promise.succeed(with: 1)
    #expect(await started.opened())
    f.cancel()
    #expect(f.isCancelled)
    #expect(!f.isFinished)
    go.signal()
    #expect(await done.opened())
    #expect(await eventually { f.isFinished })
  }

  @Test func `always cancelled on its way to its context runs once`() {
    let context = ManualContext()
    let ran = Counter()
    let promise = Promise<Int>()
    let f = promise.always(on: context) { ran.add() }
    promise.succeed(with: 1)
    f.cancel()
    #expect(f.isCancelled)
    context.runAll()
    #expect(ran.value == 1)
  }

  @Test func `always runs once, whoever settles and cancels at the same moment: 2,000 rounds`()
    async
  {
    let ran = Counter()
    let ended = await RaceHarness(threads: 3, rounds: 2_000).run { _ in
      let promise = Promise<Int>()
      return (promise, promise.always(on: .inline) { ran.add() })
    } act: { (subject: (Promise<Int>, Future<Int>), thread: Int) in
      switch thread {
      case 0: subject.0.succeed(with: 1)
      case 1: subject.1.cancel()
      default: subject.0.cancel()
      }
    }
    #expect(ended)
    #expect(await eventually { ran.value >= 2_000 })
    #expect(ran.value == 2_000)
  }

  @Test(.guarantee(4)) func `observers pass the result on without changing it`() {
    let promise = Promise<Int>()
    let f = promise.onSuccess(on: .inline) { _ in }.onFailure(on: .inline) { _ in }
      .onCompletion(on: .inline) { _ in }.onCancel(on: .inline) {}.always(on: .inline) {}
    promise.succeed(with: 1)
    #expect(f.result?.successValue == 1)
  }

  @Test func `onFailure gets the error, of a cancelled future too`() {
    let errors = Log<String>()
    let (failed, cancelled) = (Promise<Int>(), Promise<Int>())
    for f in [failed, cancelled] { f.onFailure(on: .inline) { errors.append("\($0)") } }
    failed.fail(with: TestError.first)
    cancelled.cancel()
    #expect(errors.entries == ["first", "cancelled"])
  }

  @Test func `recovering from one type passes other errors unchanged`() {
    let f = Promises.makeFailed(with: TestError.first, promising: Int.self)
      .recover(on: .inline, from: CocoaError.self) { _ in 1 }
    #expect(f.anyError as? TestError == .first)
    #expect(f.recover(on: .inline, from: TestError.self) { _ in 2 }.result?.successValue == 2)
  }

  @Test func `mapResult can make a failure of a success, and a success of a cancellation`() {
    let promise = Promise<Int>()
    let failed = Promises.makeSucceeded(with: 1).mapResult(on: .inline) { _ in
      FutureResult<Int>.failure(TestError.first)
    }
    #expect(failed.anyError as? TestError == .first)
    let thrown = Promises.makeSucceeded(with: 1).mapResult(on: .inline) { _ -> FutureResult<Int> in
      throw TestError.second
    }
    #expect(thrown.anyError as? TestError == .second)
    let mended = promise.mapResult(on: .inline) { FutureResult<Bool>.success($0.isFailure) }
    promise.cancel()
    #expect(mended.result?.successValue == true)
    #expect(!mended.isCancelled)
  }

  @Test func `a handler of every kind that is attached late runs`() {
    let log = Log<String>()
    let success = Promises.makeSucceeded(with: 1)
    success.onSuccess(on: .inline) { _ in log.append("success") }
    success.onFailure(on: .inline) { _ in log.append("no failure") }
    success.onCancel(on: .inline) { log.append("no cancellation") }
    let cancelled = Promise<Int>()
    cancelled.cancel()
    cancelled.onCancel(on: .inline) { log.append("cancellation") }
    cancelled.onSuccess(on: .inline) { _ in log.append("no success") }
    #expect(log.entries == ["success", "cancellation"])
  }

  @Test(arguments: [false, true])
  func `always cancelled by its context as soon as that is asked: runs once`(_ isLate: Bool) {
    struct CancellingContext: ExecutionContext {
      func execute(_ operation: Operation) {
        operation.cancel()
        operation.start()
      }
    }
    let (promise, count) = (Promise<Int>(), Counter())
    if isLate { promise.succeed(with: 1) }
    let future = promise.always(on: CancellingContext()) { count.add() }
    promise.succeed(with: 1)
    #expect(count.value == 1)
    #expect(future.isCancelled)
  }

  @Test func `always cancelled with its queue runs, also when it waits there on its own`() async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let (first, second) = (Event(), Event())
    let upstream = Promises.makeSucceeded(with: 1)
    upstream.always(on: queue) { first.signal() }
    Promise<Int>().always(on: queue) { second.signal() }.cancel()
    queue.cancelAllOperations()
    queue.isSuspended = false
    #expect(await first.opened())
    #expect(await second.opened())
  }
}
