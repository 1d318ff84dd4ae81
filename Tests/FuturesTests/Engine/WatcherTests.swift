import Foundation
import TestSupport
import Testing

@testable import Futures

/// Closures that are told of a moment in the life of a future.
@Suite("A watcher", .timeLimit(.minutes(5)), .oneAtATime)
struct WatcherTests {
  enum Ending: CaseIterable {
    case success, failure, cancellation

    func settle(_ promise: Promise<Int>) {
      switch self {
      case .success: promise.succeed(with: 1)
      case .failure: promise.fail(with: TestError.first)
      case .cancellation: promise.cancel()
      }
    }
  }

  @Test(arguments: Ending.allCases)
  func `each moment is told of the ends that it is made for`(_ ending: Ending) {
    let expected: [(Watcher.Moment, Int)] = [
      (.settled, 1), (.finished, 1), (.cancelled, ending == .cancellation ? 1 : 0),
      (.cancelledForUser, ending == .cancellation ? 1 : 0),
    ]
    for (moment, times) in expected {
      let (promise, count) = (Promise<Int>(), Counter())
      let isWatching = promise.watch(moment) { _ in count.add() }
      #expect(isWatching)
      #expect(count.value == 0)
      ending.settle(promise)
      #expect(count.value == times, "\(moment)")
    }
  }

  @Test func `what has settled is not watched any more`() {
    let moments: [Watcher.Moment] = [.settled, .finished, .cancelled, .cancelledForUser]
    for moment in moments {
      let isWatching = Promises.makeSucceeded(with: 1).watch(moment) { _ in
        Issue.record("told too late")
      }
      #expect(!isWatching, "\(moment)")
    }
  }

  @Test func `what has settled in a queue, and not finished, is watched for the finish only`() async
  {
    let (promise, queue, count, finished) = (Promise<Int>(), OperationQueue(), Counter(), Event())
    queue.isSuspended = true
    queue.addOperation(promise)
    promise.succeed(with: 1)
    #expect(!promise.isFinished)
    let isWatched = promise.watch { _ in count.add() }
    let isWatchedForFinish = promise.watch(.finished) { future in
      if future.isFinished { count.add() }
      finished.signal()
    }
    #expect(!isWatched)
    #expect(isWatchedForFinish)
    #expect(count.value == 0)
    queue.isSuspended = false
    #expect(await finished.opened())
    #expect(count.value == 1)
  }

  @Test func `a watcher of the finish that came before the settlement is told after the start`()
    async
  {
    let (promise, queue, count, finished) = (Promise<Int>(), OperationQueue(), Counter(), Event())
    queue.isSuspended = true
    queue.addOperation(promise)
    _ = promise.watch(.finished) { _ in
      count.add()
      finished.signal()
    }
    promise.succeed(with: 1)
    #expect(count.value == 0)
    queue.isSuspended = false
    #expect(await finished.opened())
  }

  @Test func `a watcher does not want the value: the last consumer's cancellation cancels`() {
    let promise = Promise<Int>()
    _ = promise.watch { _ in }
    let consumer = promise.mapToValue(on: .inline) { $0 }
    #expect(promise.isWanted)
    consumer.cancel()
    #expect(!promise.isWanted)
    #expect(promise.isCancelled)
  }

  @Test func `a watcher that is detached is not told`() {
    let (promise, count) = (Promise<Int>(), Counter())
    let watcher = Watcher(.settled) { _ in count.add() }
    let isWatching = promise.watch(with: watcher)
    promise.detach(.callback(watcher), cancelling: false)
    promise.succeed(with: 1)
    #expect(isWatching)
    #expect(count.value == 0)
  }

  @Test func `a future that is released unsettled tells its watchers of a broken promise, once`() {
    let (tracker, count) = (LifetimeTracker(), Counter())
    func watch() {
      let (promise, tracked) = (Promise<Int>(), tracker.make())
      _ = promise.watch { source in
        tracked.touch()
        if case ProperationsError.brokenPromise? = source.anyError as? ProperationsError {
          count.add()
        }
      }
    }
    watch()
    #expect(tracker.alive == 0)
    #expect(count.value == 1)
  }
}
