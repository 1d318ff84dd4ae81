import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Races around a blocking promise", .timeLimit(.minutes(5)), .oneAtATime)
struct BlockingPromiseRaceTests {
  struct Subject: Sendable {
    let queue = OperationQueue.make(isSuspended: true)
    let runs = Log<Int>()
    let settled = Log<Bool>()
    let byClosure = Log<Bool>()
    let handled = Log<Int>()
    let completed = Log<Int>()
    let promise: BlockingPromise<Int>

    init() {
      promise = BlockingPromise(on: .global()) { [runs, byClosure] promise in
        runs.append(1)
        byClosure.append(promise.succeed(with: 0))
      }
      promise.onCompletion(on: .inline) { [handled] _ in handled.append(1) }
      promise.completionBlock = { [completed] in completed.append(1) }
    }

    /// Settled, finished, told everybody once, and the queue goes on.
    var isDone: Bool {
      eventuallyBlocking {
        promise.isFinished && queue.operationCount == 0 && hasCompleted && handled.count == 1
      } && promise.isFulfilled && runs.count <= 1 && completed.count <= 1
    }

    /// Whether the completion block has run.
    ///
    /// Foundation runs it in the background, which is starved for minutes while all tests
    /// run at once under the sanitizer: there it only must not run twice.
    private var hasCompleted: Bool {
      #if PROPERATIONS_THREAD_SANITIZER
        true
      #else
        completed.count == 1
      #endif
    }
  }

  @Test("Start, cancel and settle at the same time, 8 threads, 2,000 rounds: done once each")
  func startCancelSettle() async {
    let wrong = await race(rounds: 2000) { _ in
      let subject = Subject()
      subject.queue.addOperation(subject.promise)
      return subject
    } _: { thread, subject in
      switch thread {
      case 0: subject.queue.isSuspended = false
      case 1, 2: subject.promise.cancel()
      case 3, 4: subject.settled.append(subject.promise.succeed(with: thread))
      case 5: subject.settled.append(subject.promise.fail(with: Oops()))
      case 6: subject.queue.cancelAllOperations()
      default: _ = subject.promise.isReady
      }
    } isRight: { subject in
      // At most one of those outside was told that its settlement is the one.
      subject.isDone && subject.settled.entries.count { $0 } <= 1
    }
    #expect(wrong == nil)
  }

  @Test("The closure's settlement against one from outside: each end wins once at most")
  func closureAgainstOutside() async {
    let wrong = await race(rounds: 2000, threads: 4) { _ in
      let subject = Subject()
      subject.queue.addOperation(subject.promise)
      return subject
    } _: { thread, subject in
      if thread == 0 {
        subject.queue.isSuspended = false
      } else {
        // (Yielding: three threads that only look would keep the closure from starting.)
        while subject.runs.count == 0, !subject.promise.isFulfilled { sched_yield() }
        subject.settled.append(subject.promise.succeed(with: thread))
      }
    } isRight: { subject in
      subject.isDone
        && eventuallyBlocking { subject.byClosure.count == subject.runs.count }
        && subject.settled.entries.count { $0 } <= 1
        && subject.byClosure.entries.count { $0 } <= 1
        && (subject.settled.entries + subject.byClosure.entries).contains(true)
    }
    #expect(wrong == nil)
  }

  @Test("Enqueued while it is cancelled and settled, 2,000 rounds: done once each")
  func enqueueCancelSettle() async {
    let wrong = await race(rounds: 2000, threads: 4) { _ in
      let subject = Subject()
      subject.queue.isSuspended = false
      return subject
    } _: { thread, subject in
      switch thread {
      case 0, 1: try? subject.queue.addFuture(subject.promise)
      case 2: subject.promise.cancel()
      default: subject.promise.succeed(with: 1)
      }
    } isRight: {
      $0.isDone
    }
    #expect(wrong == nil)
  }

  @Test("Eight threads call start() on one in no queue, 2,000 rounds: the closure runs once")
  func startEightTimes() async {
    struct Started: Sendable {
      let runs = Log<Int>()
      let promise: BlockingPromise<Int>
      init() {
        promise = BlockingPromise(on: .inline) { [runs] promise in
          runs.append(1)
          promise.succeed(with: 1)
        }
      }
    }
    let wrong = await race(rounds: 2000) { _ in
      Started()
    } _: { _, subject in
      subject.promise.start()
    } isRight: { subject in
      subject.runs.count == 1 && subject.promise.result?.successValue == 1
        && subject.promise.isFinished
    }
    #expect(wrong == nil)
  }

  @Test("Last reference released while it settles, 2,000 rounds: the consumer always settles")
  func releaseAndSettle() async {
    struct Held: Sendable {
      let queue = OperationQueue.make(limit: 2)
      let promise: Protected<BlockingPromise<Int>?>
      let consumer: Future<Int>
      init() {
        let write = Promises.makeBlocking(
          in: queue, promising: Int.self, on: .global()
        ) { promise in
          DispatchQueue.global().async { promise.succeed(with: 1) }
        }
        consumer = write.mapToValue(on: .inline) { $0 + 1 }
        promise = Protected(write)
      }
    }
    let wrong = await race(rounds: 2000, threads: 4) { _ in
      Held()
    } _: { thread, subject in
      switch thread {
      case 0: subject.promise.change { $0 = nil }
      case 1: subject.queue.cancelAllOperations()
      case 2: subject.consumer.mapToValue(on: .inline) { $0 }.cancel()
      default: _ = subject.consumer.isFulfilled
      }
    } isRight: { subject in
      eventuallyBlocking {
        subject.consumer.isFulfilled && subject.queue.operationCount == 0
      }
    }
    #expect(wrong == nil)
  }

  @Test("A queue cancelled just as another thread adds its first future: settled or untouched")
  func firstMember() async {
    struct First: Sendable {
      let queue = OperationQueue.make()
      let missed = Log<Int>()
      let promises = (0..<4).map { _ in Promises.make(promising: Int.self) }
    }
    let wrong = await race(rounds: 2000, threads: 4) { _ in
      First()
    } _: { thread, subject in
      let promise = subject.promises[thread]
      try? subject.queue.addFuture(promise)
      // What this thread has added before is cancelled, whoever was first.
      if thread == 0 {
        subject.queue.cancelAllOperations()
        if !promise.isCancelled { subject.missed.append(thread) }
      }
    } isRight: { subject in
      subject.queue.cancelAllOperations()
      return subject.missed.count == 0
        && eventuallyBlocking {
          subject.promises.allSatisfy { $0.isFinished } && subject.queue.operationCount == 0
        }
    }
    #expect(wrong == nil)
  }
}
