import Foundation
import Futures
import TestSupport
import Testing
import Workflows

private final class Quick: WorkflowTask<Int>, @unchecked Sendable {
  override func main() { finish(with: 1) }
}

@Suite("Workflows, large", .enabled(if: isStressing), .oneAtATime)
struct WorkflowStressTests {
  @Test("56. a thousand random graphs keep all invariants", .timeLimit(.minutes(10)))
  func random() async throws {
    var seeds = SeededGenerator(for: "random workflows")
    var seed = seeds.seed
    for _ in 0..<times(1000) {
      let wrong = try await RandomWorkflow(seed: seed).run()
      #expect(wrong.isEmpty, "PROPERATIONS_SEED=\(seed): \(wrong.prefix(5))")
      if !wrong.isEmpty { return }
      seed = seeds.next()
    }
  }

  @Test(
    "53. a nested workflow bears cancel, reset and retry from many threads",
    .timeLimit(.minutes(10)))
  func restless() async throws {
    for round in 0..<times(20_000) {
      let wrong = try await RestlessSubworkflow.play(round)
      #expect(wrong == nil)
      if wrong != nil { return }
    }
  }

  enum Shape: String, CaseIterable, Sendable {
    case chain, fan, layers

    /// About so many tasks: a row, a fan out and in, layers of two hundred
    /// each with two prerequisites per task.
    func make(_ count: Int) throws -> Workflow {
      let workflow = Workflow(name: rawValue)
      switch self {
      case .chain:
        var last = try workflow.add(Quick(name: "t"))
        for _ in 1..<count { last = try workflow.add(Quick(name: "t"), prerequisites: last) }
      case .fan:
        let first = try workflow.add(Quick(name: "t"))
        var middle: [AnyWorkflowTask] = []
        for _ in 0..<count {
          middle.append(try workflow.add(Quick(name: "t"), prerequisites: first))
        }
        try workflow.add(Quick(name: "t"), prerequisites: middle)
      case .layers:
        var last: [AnyWorkflowTask] = []
        for _ in 0..<count / 200 {
          var layer: [AnyWorkflowTask] = []
          for i in 0..<200 {
            let before = last.isEmpty ? [] : [last[i], last[(i + 1) % 200]]
            layer.append(try workflow.add(Quick(name: "t"), prerequisites: before))
          }
          last = layer
        }
      }
      return workflow
    }
  }

  private func timed(_ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    try await body()
    return (ContinuousClock.now - start) / .seconds(1)
  }

  /// Seconds for building, starting, cancelling, resetting and retrying.
  private func measure(_ shape: Shape, _ count: Int) async throws -> [Double] {
    var times: [Double] = []
    var made: Workflow?
    times.append(try await timed { made = try shape.make(count) })
    let workflow = try #require(made)
    times.append(try await timed { _ = try await workflow.run() })
    times.append(await timed { workflow.reset() })
    times.append(await timed { workflow.cancel() })
    times.append(try await timed { _ = try await workflow.retry().value })
    #expect(!workflow.hasUnfinishedTasks)
    return times
  }

  @Test(
    "57. building, starting, cancelling, resetting and retrying are linear",
    .timeLimit(.minutes(10)), arguments: Shape.allCases)
  func linear(_ shape: Shape) async throws {
    let size = times(shape == .chain ? 100_000 : shape == .fan ? 10_000 : 40_000)
    _ = try await measure(shape, size / 10)
    var ratios = Array(repeating: Double.infinity, count: 5)
    let worst = try await Growth.leastRatio(below: isFullSize ? Growth.doubledBound : .infinity) {
      let once = try await measure(shape, $0 * size)
      let twice = try await measure(shape, $0 * 2 * size)
      for (i, (a, b)) in zip(once, twice).enumerated() {
        // What takes next to no time has no meaningful ratio.
        ratios[i] = min(ratios[i], b / max(a, 0.001))
      }
      return ratios.max() ?? .infinity
    }
    print("\(shape.rawValue): build, start, reset, cancel, retry: \(ratios)")
    #expect(worst < Growth.doubledBound || !isFullSize, "\(ratios)")
  }

  @Test("57. 200 fully connected layers of 200 tasks run in seconds", .timeLimit(.minutes(5)))
  func fullLayers() async throws {
    let workflow = Workflow(name: "layers")
    let side = isFullSize ? 200 : 20
    var last: [AnyWorkflowTask] = []
    let building = try await timed {
      for _ in 0..<side {
        var layer: [AnyWorkflowTask] = []
        for _ in 0..<side { layer.append(try workflow.add(Quick(name: "t"), prerequisites: last)) }
        last = layer
      }
    }
    let running = try await timed { _ = try await workflow.run() }
    #expect(!workflow.hasUnfinishedTasks)
    let messages = await timed {
      workflow.reset()
      workflow.cancel()
      workflow.reset()
    }
    print("layers: build \(building) s, run \(running) s, three messages \(messages) s")
    #expect(building < 60 && running < 30 && messages < 30)
  }

  @Test("57. a chain of 1,000,000 works and goes on a small stack", .timeLimit(.minutes(5)))
  func millionOnSmallStack() async throws {
    let count = times(1_000_000)
    let isDone = try await SmallStackThread.running(within: .seconds(250)) { () -> Bool in
      let workflow = Workflow(name: "chain", context: .inline)
      var last: WorkflowTask<Int>?
      for _ in 0..<count {
        let before = last
        // Each closure holds the task before, as real ones do.
        let task = BlockWorkflowTask<Int>(name: "t") { task in
          task.finish(with: ((before.flatMap { try? task.result(of: $0) }) ?? 0) + 1)
        }
        try workflow.add(task, prerequisites: before.map { [$0] } ?? [])
        last = task
      }
      workflow.start()
      guard last?.result == count else { return false }
      workflow.reset()
      workflow.cancel()
      workflow.retry()
      return last?.result == count
    }
    #expect(isDone)
  }

  @Test("57. 1,000,000 tasks in one workflow fit in 1 GiB", .timeLimit(.minutes(5)))
  func memory() async throws {
    let before = ResidentMemory.bytes
    let workflow = Workflow(name: "million")
    for _ in 0..<times(1_000_000) {
      try workflow.add(BlockWorkflowTask<Int>(name: "t") { $0.finish(with: 1) })
    }
    #expect(try await workflow.run().isFinished)
    if let before, let now = ResidentMemory.bytes {
      print("1,000,000 tasks: \((now - before) >> 20) MiB")
    }
    ResidentMemory.expectGrowth(since: before, below: 1 << 30)
  }
}
