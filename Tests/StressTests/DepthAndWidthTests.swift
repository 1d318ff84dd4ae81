import Foundation
import Futures
import Synchronization
import TestSupport
import Testing

/// Depth and width are limited by memory, not by stack.
@Suite(.enabled(if: isStressing), .timeLimit(.minutes(5)), .serialized)
struct DepthAndWidthTests {
  private static let million = 1_000_000

  private static func chain(
    _ length: Int, after promise: Promise<Int>
  ) -> Future<Int> {
    var end: Future<Int> = promise
    for _ in 0..<length { end = end.mapToValue(on: .inline) { $0 + 1 } }
    return end
  }

  /// What is done to a chain of a million links.
  enum Ending: CaseIterable {
    case settled, failed, cancelledAbove, cancelledBelow, broken, onlyTailKept, dropped
  }

  @Test(.guarantee(7), arguments: Ending.allCases)
  func `a chain of 1,000,000 links ends on a 512 KiB stack`(_ ending: Ending) async throws {
    let result: FutureResult<Int>? = try await SmallStackThread.running(within: .seconds(240)) {
      var promise: Promise<Int>? = Promise<Int>()
      guard let start = promise else { return nil }
      var end: Future<Int>? = Self.chain(Self.million, after: start)
      switch ending {
      case .settled: start.succeed(with: 0)
      case .failed: start.fail(with: TestError.first)
      case .cancelledAbove: start.cancel()
      case .cancelledBelow: end?.cancel()
      case .broken, .onlyTailKept, .dropped: break
      }
      let isCancelledAbove = start.isCancelled
      if ending == .cancelledBelow, !isCancelledAbove { return .failure(TestError.second) }
      if ending == .dropped { end = nil }
      return withExtendedLifetime(start) { end }.flatMap { end -> FutureResult<Int>? in
        promise = nil
        return end.result
      }
    }
    switch ending {
    case .settled: #expect(result?.successValue == Self.million)
    case .failed: #expect(result?.failureValue is TestError)
    case .cancelledAbove, .cancelledBelow:
      #expect(result?.failureValue as? ProperationsError == .cancelled)
    case .broken, .onlyTailKept, .dropped: break
    }
  }

  @Test(.guarantee(7)) func `an abandoned chain of 1,000,000 links breaks on a 512 KiB stack`()
    async throws
  {
    let error = try await SmallStackThread.running(within: .seconds(240)) { () -> (any Error)? in
      let end = Self.chain(Self.million, after: Promise<Int>())
      return end.result?.failureValue
    }
    guard case .brokenPromise = error as? ProperationsError else {
      Issue.record("not broken: \(String(describing: error))")
      return
    }
  }

  @Test("A chain of a million links is explained on a small stack, without its middle")
  func deepChain() async throws {
    try await SmallStackThread.running {
      let promise = Promise<Int>(name: "root")
      var last: Future<Int> = promise
      for _ in 0..<1_000_000 { last = last.mapToValue(on: .inline) { $0 } }
      let explanation = last.explain()
      #expect(explanation.steps.count == 13)
      #expect(explanation.omittedCount == 1_000_001 - 13)
      #expect(explanation.steps.last?.name == "root")
      #expect(explanation.roots == [12])
      #expect(explanation.description.count < 4_000)
      #expect(explanation.description.contains("… 999988 futures of the chain …"))
      #expect(explanation.dot.contains("label=\"999988 more\""))
      #expect(explanation.mermaid.contains("|\"999988 more\"|"))
      promise.succeed(with: 1)
      #expect(last.isFulfilled)
    }
  }

  @Test func `a chain of 1,000,000 links is read on a small stack`() async throws {
    let fraction = try await SmallStackThread.running { () -> Double in
      let promise = Promise<Int>()
      var end: Future<Int> = promise
      for _ in 0..<1_000_000 { end = end.mapToValue(on: .inline) { $0 } }
      promise.report(completed: 1, of: 4)
      let fraction = end.currentProgress.fractionCompleted
      promise.succeed(with: 1)
      return fraction
    }
    #expect(fraction == 0.25)
  }

  @Test(.guarantee(7)) func `a recursion of 1,000,000 mapToFuture takes neither stack nor memory`()
    async throws
  {
    let before = ResidentMemory.bytes
    let result = try await SmallStackThread.running(within: .seconds(240)) { () -> Int? in
      @Sendable func step(_ count: Int) -> Future<Int> {
        count == 0
          ? Promises.makeSucceeded(with: 7)
          : Promises.run(on: .global()) { count }.mapToFuture(on: .inline) { step($0 - 1) }
      }
      return try step(Self.million).wait(timeout: .seconds(230))
    }
    #expect(result == 7)
    // A million pending steps would be some 700 MB.
    ResidentMemory.expectGrowth(since: before, below: 200_000_000)
  }

  @Test func `1,000,000 promises linked in a row settle on a 512 KiB stack`() async throws {
    let before = ResidentMemory.bytes
    let result = try await SmallStackThread.running(within: .seconds(240)) { () -> Int? in
      let first = Promise<Int>()
      var last = first
      for _ in 0..<Self.million {
        let next = Promise<Int>()
        last.fulfill(from: next)
        last = next
      }
      last.succeed(with: 3)
      return first.result?.successValue
    }
    #expect(result == 3)
    ResidentMemory.expectGrowth(since: before, below: 200_000_000)
  }

  @Test(.guarantee(7)) func `1,000,000 handlers on one future, half of them cancelled, run or not`()
    async throws
  {
    let ran = try await SmallStackThread.running(within: .seconds(240)) { () -> Int in
      let promise = Promise<Int>()
      let count = Counter()
      var consumers: [Future<Void>] = []
      for _ in 0..<Self.million {
        consumers.append(promise.mapToValue(on: .inline) { _ in count.add() })
      }
      for index in stride(from: 0, to: consumers.count, by: 2) { consumers[index].cancel() }
      promise.succeed(with: 1)
      return count.value
    }
    #expect(ran == Self.million / 2)
  }

  @Test(arguments: [0, 1, 100_000])
  func `a join of as many futures, settled in random order by 8 threads`(_ count: Int) async {
    var generator = SeededGenerator()
    let promises = (0..<count).map { _ in Promise<Int>() }
    let all = Promises.collect(promises)
    let shuffled = promises.indices.shuffled(using: &generator)
    let ended = await RaceHarness(threads: 8, rounds: 1).run { _ in
      shuffled
    } act: { order, thread in
      for (place, index) in order.enumerated() where place % 8 == thread {
        promises[index].succeed(with: index)
      }
    }
    #expect(ended)
    #expect(await all.completion.successValue == Array(0..<count))
  }

  @Test func `settling a chain takes time in proportion to its length`() async {
    func time(_ length: Int) -> Double {
      (0..<3).map { _ in
        let promise = Promise<Int>()
        let end = Self.chain(length, after: promise)
        return seconds { promise.succeed(with: 0) } + (end.isFulfilled ? 0 : 1_000)
      }.min() ?? 0
    }
    _ = time(10_000)
    let ratio = await Growth.leastRatio(below: Growth.doubledBound) {
      time($0 * 400_000) / time($0 * 200_000)
    }
    #expect(ratio < Growth.doubledBound)
  }

  @Test func `100,000 pending promises on one queue cost the next one nothing`() async {
    func cost(beside pending: Int) -> Double {
      let queue = OperationQueue()
      let others = (0..<pending).map { _ in Promises.make(promising: Int.self, in: queue) }
      let time = (0..<5).map { _ in
        seconds {
          for _ in 0..<2_000 { Promises.make(promising: Int.self, in: queue).succeed(with: 1) }
        }
      }.min()
      for other in others { other.succeed(with: 1) }
      queue.waitUntilAllOperationsAreFinished()
      return time ?? 0
    }
    _ = cost(beside: 100)
    let ratio = await Growth.leastRatio(below: 2) {
      cost(beside: $0 * 100_000) / cost(beside: 100)
    }
    #expect(ratio < 2)
  }
}
