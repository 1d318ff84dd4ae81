import Foundation
import NIOPosix
import Properations
import Workloads

extension Budget {
  /// The budgets that ARCHITECTURE promises for futures, in its order.
  static func futures(on group: MultiThreadedEventLoopGroup) -> [Budget] {
    inlineLinks(on: group) + hops() + asyncWork() + linearity() + memory()
  }

  // MARK: Links without a hop

  private static func inlineLinks(on group: MultiThreadedEventLoopGroup) -> [Budget] {
    // A thousand objects at once: they stay in the processor's caches on both sides.
    let length = 1000
    let repetitions = 10
    @Sendable func perLink(_ work: () -> Void) -> Double {
      Clock.processor.time { for _ in 0..<repetitions { work() } } / Double(length * repetitions)
    }
    let ours = { perLink { InlineChain.ours(length: length) } }
    let loop = group.next()
    return [
      .ratio(
        "a link with `on: .inline`", atMost: 1.8,
        against: "a bare operation made, finished and released",
        rounds: 61, ours: ours, reference: { perLink { InlineChain.floor(length: length) } }),
      .ratio(
        "a link with `on: .inline`", atMost: 1.8,
        against: "a bare operation, as many alive at once", rounds: 61, ours: ours,
        reference: { perLink { InlineChain.floorAtOnce(length: length) } }),
      .ratio(
        "a link with `on: .inline`", atMost: 2.4, against: "NIO's `map` on its own loop",
        rounds: 61, ours: ours,
        reference: {
          try loop.submit { perLink { InlineChain.nio(length: length, on: loop) } }.wait()
        }),
    ] + allocations()
  }

  private static func allocations() -> [Budget] {
    // On other platforms the system would not call our `malloc`.
    guard Allocations.canBeCounted else { return [] }
    return [
      .limit("mallocs of a link", atMost: 10, unit: "", isStable: true) {
        let few = try Allocations.count { InlineChain.ours(length: 1000) }
        let many = try Allocations.count { InlineChain.ours(length: 3000) }
        return Double(many - few) / 2000
      }
    ]
  }

  // MARK: Hops

  private static func hops() -> [Budget] {
    let length = 1000
    func perLink(_ work: () -> Void) -> Double { Clock.wall.time(work) / Double(length) }
    let queues = Hops.serialOperationQueues()
    let dispatchQueues = Hops.serialDispatchQueues()
    let oneQueue = [queues[0]]
    return [
      .ratio(
        "a hop between two operation queues", atMost: 1.35, against: "a bare `addOperation` hop",
        rounds: 41,
        ours: { perLink { Hops.ours(length: length, alternatingBetween: queues) } },
        reference: { perLink { Hops.bare(length: length, alternatingBetween: queues) } }),
      .ratio(
        "a link of a chain on one operation queue", atMost: 0.5,
        against: "a bare `addOperation` hop", rounds: 41,
        ours: { perLink { Hops.ours(length: length, alternatingBetween: oneQueue) } },
        reference: { perLink { Hops.bare(length: length, alternatingBetween: oneQueue) } }),
      .ratio(
        "a hop between two dispatch queues", atMost: 1.3,
        against: "a bare `async` hop and an inline link", rounds: 101,
        ours: { perLink { Hops.ours(length: length, alternatingBetween: dispatchQueues) } },
        reference: {
          perLink {
            Hops.bare(length: length, alternatingBetween: dispatchQueues)
            InlineChain.ours(length: length)
          }
        }),
    ]
  }

  private static func asyncWork() -> [Budget] {
    let count = 10_000
    let queue = AsyncWork.queue()
    func perClosure(_ work: () -> Void) -> Double { Clock.wall.time(work) / Double(count) }
    return [
      .ratio(
        "an async closure in a slot of a queue", atMost: 1.5,
        against: "a bare `addOperation` and a `Task`", rounds: 21,
        ours: { perClosure { AsyncWork.ours(count: count, in: queue) } },
        reference: { perClosure { AsyncWork.bare(count: count, in: queue) } }),
      .ratio(
        "an async closure in a slot of a queue", atMost: 1.5,
        against: "an asynchronous operation written by hand", rounds: 21,
        ours: { perClosure { AsyncWork.ours(count: count, in: queue) } },
        reference: { perClosure { AsyncWork.byHand(count: count, in: queue) } }),
    ]
  }

  // MARK: Many at once

  private static func linearity() -> [Budget] {
    func beside(_ pending: Int) -> Double {
      let count = 20_000
      return withExtendedLifetime(Pending.promises(pending)) {
        // Takes the fastest of several measurements, because there are few rounds for the
        // median: making so many promises takes long.
        (0..<15).map { _ in
          Clock.processor.time { Pending.createAndFulfil(count) } / Double(count)
        }.min() ?? .infinity
      }
    }
    // Both sides have the same number of promises. Otherwise the smaller side would be
    // measured in the processor's caches and the larger one in memory.
    func collect(_ size: Int) -> Double {
      let promises = Pending.promises(100_000)
      return Clock.processor.time { Collecting.inGroups(of: size, promises) } / 100_000
    }
    return [
      .ratio(
        "create and fulfill beside 1,000,000 pending", atMost: 1.5, against: "beside 1,000",
        rounds: 5, isStable: true, ours: { beside(1_000_000) }, reference: { beside(1000) }),
      .ratio(
        "collect 100,000: each", atMost: 1.5, against: "in groups of 100", rounds: 15,
        isStable: true, ours: { collect(100_000) }, reference: { collect(100) }),
    ]
  }

  // MARK: Memory

  private static func memory() -> [Budget] {
    // Only Linux has /proc.
    guard FileManager.default.fileExists(atPath: "/proc/self/statm") else { return [] }
    return [
      .limit("resident memory of a pending link", atMost: 900, unit: "bytes") {
        try ResidentMemory.ofPendingLinkInNewProcess()
      }
    ]
  }
}
