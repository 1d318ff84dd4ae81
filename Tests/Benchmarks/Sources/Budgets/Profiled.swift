import ArgumentParser
import NIOPosix
import Properations
import Workloads

/// One side of a row, run alone for a profiler.
enum Profiled: String, ExpressibleByArgument, CaseIterable {
  case floor
  case floorAtOnce = "floor-at-once"
  case inlineLinks = "inline-links"
  case nioLinks = "nio-links"
  case createAndFulfil = "create-and-fulfill"
  case queueHops = "queue-hops"
  case bareQueueHops = "bare-queue-hops"
  case queueChain = "queue-chain"
  case bareQueueChain = "bare-queue-chain"
  case dispatchHops = "dispatch-hops"
  case bareDispatchHops = "bare-dispatch-hops"
  case asyncClosures = "async-closures"
  case bareAsyncClosures = "bare-async-closures"
  case handMadeAsyncClosures = "hand-made-async-closures"
  case collect

  /// Does the work `thousands` times, with a thousand units each time.
  func run(thousands: Int, on group: MultiThreadedEventLoopGroup) throws {
    let loop = group.next()
    let queues = Hops.serialOperationQueues()
    let dispatchQueues = Hops.serialDispatchQueues()
    let slots = AsyncWork.queue()
    for _ in 0..<thousands {
      switch self {
      case .floor: InlineChain.floor(length: 1000)
      case .floorAtOnce: InlineChain.floorAtOnce(length: 1000)
      case .inlineLinks: InlineChain.ours(length: 1000)
      case .nioLinks: try loop.submit { InlineChain.nio(length: 1000, on: loop) }.wait()
      case .createAndFulfil: Pending.createAndFulfil(1000)
      case .queueHops: Hops.ours(length: 1000, alternatingBetween: queues)
      case .bareQueueHops: Hops.bare(length: 1000, alternatingBetween: queues)
      case .queueChain: Hops.ours(length: 1000, alternatingBetween: [queues[0]])
      case .bareQueueChain: Hops.bare(length: 1000, alternatingBetween: [queues[0]])
      case .dispatchHops: Hops.ours(length: 1000, alternatingBetween: dispatchQueues)
      case .bareDispatchHops: Hops.bare(length: 1000, alternatingBetween: dispatchQueues)
      case .asyncClosures: AsyncWork.ours(count: 1000, in: slots)
      case .bareAsyncClosures: AsyncWork.bare(count: 1000, in: slots)
      case .handMadeAsyncClosures: AsyncWork.byHand(count: 1000, in: slots)
      case .collect: Collecting.settledAfter(Pending.promises(1000))
      }
    }
  }
}
