import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("The cost of pending futures on a queue", .timeLimit(.minutes(5)), .oneAtATime)
struct PendingCostTests {
  @Test("100,000 pending on one queue: one more costs at most twice what it does with 100")
  func oneMore() async throws {
    let (small, large) = (OperationQueue.make("small"), OperationQueue.make("large"))
    var few = (0..<100).map { _ in Promises.make(promising: Int.self, in: small) }
    var many = (0..<100_000).map { _ in Promises.make(promising: Int.self, in: large) }
    // A noisy machine may spoil a comparison, not all of them.
    let ratios = Log<Double>()
    let isCheap = await eventually {
      let (base, loaded) = Self.medians(small, large)
      ratios.append(loaded / base)
      return loaded <= base * 2
    }
    withExtendedLifetime((few, many)) {}
    #expect(isCheap, "ratios \(ratios.entries)")
    #expect(large.operationCount < 1000, "pending futures sit in the queue one by one")
    // Released pending, they leave their queues.
    (few, many) = ([], [])
    #expect(await small.isEmptyEventually())
    #expect(await large.isEmptyEventually())
  }

  /// The median times of making and settling a group, alternately on both.
  private static func medians(_ a: OperationQueue, _ b: OperationQueue) -> (Double, Double) {
    var times: ([Double], [Double]) = ([], [])
    for _ in 0..<41 {
      times.0.append(time(a))
      times.1.append(time(b))
    }
    return (times.0.sorted()[20], times.1.sorted()[20])
  }

  private static func time(_ queue: OperationQueue) -> Double {
    let start = DispatchTime.now().uptimeNanoseconds
    for number in 0..<10 {
      Promises.make(promising: Int.self, in: queue).succeed(with: number)
    }
    return Double(DispatchTime.now().uptimeNanoseconds - start)
  }
}
