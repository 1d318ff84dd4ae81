import Foundation
import Futures
import TestSupport
import Testing

/// A completion block is released when it has run.
@Suite("The completion block", .timeLimit(.minutes(5)), .oneAtATime)
struct CompletionBlockTests {
  /// A way to make a future that can be settled.
  private struct Maker: Sendable {
    let name: String
    let make: @Sendable (Promise<Int>, OperationQueue) -> AnyFuture

    static let all: [Maker] = [
      Maker(name: "promise") { promise, _ in promise },
      Maker(name: "promise in a queue") { promise, queue in
        queue.addOperation(promise)
        return promise
      },
      Maker(name: "link") { promise, _ in promise.mapToValue(on: .inline) { $0 } },
      Maker(name: "link on a queue") { promise, queue in
        promise.mapToValue(on: queue) { $0 }
      },
      Maker(name: "flattened link") { promise, _ in
        promise.mapToFuture(on: .inline) { Promises.makeSucceeded(with: $0) }
      },
      Maker(name: "handler") { promise, _ in promise.onCompletion(on: .inline) { _ in } },
      Maker(name: "join") { promise, _ in Promises.collect([promise]) },
    ]
  }

  @Test func `the block has run: what it captured is released although the future is held`() async {
    for maker in Maker.all {
      for ending in Ending.allCases {
        let (tracker, completed) = (LifetimeTracker(), Counter())
        let (promise, queue) = (Promise<Int>(), OperationQueue())
        let future = maker.make(promise, queue)
        do {
          let object = tracker.make()
          future.completionBlock = {
            object.touch()
            completed.add()
          }
        }
        ending.settle(promise)
        #expect(await eventually { completed.value == 1 }, "\(maker.name)")
        let isReleased = await eventually { tracker.alive == 0 }
        #expect(isReleased, "\(maker.name)")
        #expect(completed.value == 1, "\(maker.name)")
        withExtendedLifetime(future) {}
      }
    }
  }

  @Test func `a block that captures its own future does not keep it for ever`() async {
    for maker in Maker.all {
      let (tracker, completed) = (LifetimeTracker(), Event())
      do {
        let (promise, queue, object) = (Promise<Int>(), OperationQueue(), tracker.make())
        let future = maker.make(promise, queue)
        future.completionBlock = { [future] in
          withExtendedLifetime(future) { object.touch() }
          completed.signal()
        }
        promise.succeed(with: 1)
      }
      #expect(await completed.opened(), "\(maker.name)")
      let isReleased = await eventually { tracker.alive == 0 }
      #expect(isReleased, "\(maker.name)")
    }
  }

  @Test func `the block has run: it can be read as none`() async {
    let (promise, completed) = (Promise<Int>(), Event())
    promise.completionBlock = { completed.signal() }
    promise.succeed(with: 1)
    #expect(await completed.opened())
    let isNone = await eventually { promise.completionBlock == nil }
    #expect(isNone)
  }

  @Test func `a block that is set on a finished future does not run, and is not kept`() {
    let tracker = LifetimeTracker()
    let future = Promises.makeSucceeded(with: 1)
    do {
      let object = tracker.make()
      future.completionBlock = {
        object.touch()
        Issue.record("the block ran")
      }
    }
    #expect(tracker.alive == 0)
    #expect(future.completionBlock == nil)
  }

  /// A promise that another thread settles, as it were, while a completion block is set.
  private final class SettledMeanwhile: Promise<Int>, @unchecked Sendable {
    // Sendable: a counter is.
    private let reads = Counter()
    private let last: Int

    init(atRead last: Int) {
      self.last = last
      super.init()
    }

    override var isFinished: Bool {
      let isFinished = super.isFinished
      if reads.add() == last { succeed(with: 1) }
      return isFinished
    }
  }

  @Test(arguments: 1...3)
  func `the future finishes while the block is set: the block is not kept`(_ read: Int) async {
    let tracker = LifetimeTracker()
    do {
      let (promise, object) = (SettledMeanwhile(atRead: read), tracker.make())
      promise.completionBlock = { [promise] in
        withExtendedLifetime(promise) { object.touch() }
      }
      promise.succeed(with: 1)
    }
    #expect(await eventually { tracker.alive == 0 })
  }

  @Test func `blocks that are set while futures finish are not kept`() async {
    let tracker = LifetimeTracker()
    let race = RaceHarness(threads: 2, rounds: 20_000)
    let isDone = await race.run { _ in
      Promise<Int>()
    } act: { promise, thread in
      if thread == 0 {
        promise.succeed(with: 1)
      } else {
        let object = tracker.make()
        promise.completionBlock = { [promise] in
          withExtendedLifetime(promise) { object.touch() }
        }
      }
    }
    #expect(isDone)
    #expect(await eventually { tracker.alive == 0 })
  }
}
