import Foundation
import Futures
import TestSupport
import Testing

/// Grows graphs of futures at random, settles, cancels and releases at random,
/// and asks in the end what must hold for all of them.
///
/// The seed is printed; `PROPERATIONS_SEED` replays it.
@Suite("Random graphs", .timeLimit(.minutes(5)), .oneAtATime)
struct RandomGraphTests {
  /// A graph that several threads may grow.
  private final class Graph: Sendable {
    let promises = Box<[Promise<Int>]>([])
    let pool = Box<[Future<Int>]>([])
    let everySingle = Log<WeakFuture>()
    let contexts: [ManualContext]
    let queue: OperationQueue?
    let scope = CancellationScope()
    let tracker = LifetimeTracker()
    let handled = Counter()
    let doubleHandled = Counter()

    struct WeakFuture: Sendable {
      weak var future: Future<Int>?
    }

    init(usesQueue: Bool) {
      contexts = [ManualContext(), ManualContext()]
      queue = usesQueue ? OperationQueue() : nil
      queue?.maxConcurrentOperationCount = 2
    }

    func grow(_ generator: inout SeededGenerator) {
      let promise = Promise<Int>()
      promises.value.append(promise)
      pool.value.append(promise)
      if Bool.random(using: &generator) { promise.cancelled(by: scope) }
    }

    func pick(_ generator: inout SeededGenerator) -> Future<Int> {
      if let future = pool.value.randomElement(using: &generator) { return future }
      return Promises.makeSucceeded(with: 0)
    }

    /// Derives a future from others of the pool.
    func derive(_ generator: inout SeededGenerator) {
      // A closure that holds a promise itself keeps it from breaking: this holds
      // what was derived from it.
      let (a, b) = (pick(&generator), pick(&generator).mapToValue(on: .inline) { $0 })
      let object = tracker.make()
      let context: any ExecutionContext =
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: contexts[0]
        case 1: contexts[1]
        case 2 where queue != nil: queue ?? .main
        default: InlineContext()
        }
      let once = once()
      let derived: Future<Int> =
        switch Int.random(in: 0..<18, using: &generator) {
        case 0:
          a.mapToValue(on: context) {
            object.touch(); once(); return $0 + 1
          }
        case 1:
          a.mapToFuture(on: context) { _ in
            object.touch(); once(); return b
          }
        case 2:
          a.recover(on: context) { _ in
            object.touch(); once(); return 0
          }
        case 3:
          a.recoverToFuture(on: context) { _ in
            object.touch(); once(); return b
          }
        case 4:
          a.onSuccess(on: context) { _ in
            object.touch(); once()
          }
        case 5:
          a.onCompletion(on: context) { _ in
            object.touch(); once()
          }
        case 6:
          a.onCancel(on: context) {
            object.touch(); once()
          }
        case 7:
          a.always(on: context) {
            object.touch(); once()
          }
        case 8: a.shielded()
        case 9: a || b
        case 10: Promises.collect([a, b]).mapToValue(on: context) { $0[0] }
        case 11: Promises.collect([a, b, a], failingFast: true).mapToValue(on: context) { $0[2] }
        case 12: Promises.firstCompleted([a, b])
        case 13:
          Promises.combine(a, b).mapToValue(on: context) {
            object.touch(); return $0 + $1
          }
        case 14:
          a.mapToValue(on: .inline) { [$0, 1, 2] }
            .mapElementsToFuture(on: context, maxConcurrent: 2) { _ in
              object.touch(); return b
            }
            .mapToValue(on: .inline) { $0.count }
        case 15:
          a.mapResult(on: context) {
            object.touch(); once(); return $0
          }
        case 16: a.timeout(after: .seconds(1_000))
        default:
          a.mapToValue(on: context) { _ in
            object.touch(); throw TestError.second
          }
        }
      everySingle.append(WeakFuture(future: derived))
      pool.value.append(derived)
    }

    private func once() -> @Sendable () -> Void {
      let count = Counter()
      return { [doubleHandled, handled] in
        handled.add()
        if count.add() > 1 { doubleHandled.add() }
      }
    }

    /// Does one thing to the graph.
    func act(_ generator: inout SeededGenerator) {
      switch Int.random(in: 0..<16, using: &generator) {
      case 0: grow(&generator)
      case 1...6: derive(&generator)
      case 7: promises.value.randomElement(using: &generator)?.succeed(with: 1)
      case 8: promises.value.randomElement(using: &generator)?.fail(with: TestError.first)
      case 9:
        let source = pick(&generator)
        promises.value.randomElement(using: &generator)?.fulfill(from: source)
      case 10: if Int.random(in: 0..<3, using: &generator) == 0 { pick(&generator).cancel() }
      case 11: release(promises, &generator)
      case 12: release(pool, &generator)
      case 13: contexts.randomElement(using: &generator)?.runNext()
      case 14: pick(&generator).cancelled(by: scope)
      default: contexts.randomElement(using: &generator)?.runNext()
      }
    }

    private func release<Element: Sendable>(
      _ list: Box<[Element]>, _ generator: inout SeededGenerator
    ) {
      var rest = list.value
      guard let index = rest.indices.randomElement(using: &generator) else { return }
      rest.remove(at: index)
      list.value = rest
    }

    private func runAll() { while contexts.contains(where: { $0.runAll() > 0 }) {} }

    /// Lets go of all futures; whether no object is left then.
    ///
    /// An observer's future finishes before its context gets its closure. So the contexts may
    /// still get closures from a thread of the queue.
    func leavesNothingBehind() async -> Bool {
      pool.value = []
      return await eventually {
        runAll()
        return tracker.alive == 0
      }
    }

    /// Settles what is left to settle, and runs what is left to run.
    func end() async -> Bool {
      for promise in promises.value { promise.succeed(with: 1) }
      promises.value = []
      var held = pool.value
      for case let promise as Promise<Int> in held { promise.succeed(with: 1) }
      return await eventually {
        runAll()
        held = held.filter { !$0.isFinished }
        return held.isEmpty && everySingle.entries.allSatisfy { $0.future?.isFinished != false }
      }
    }
  }

  @Test func `a graph grown by one thread settles, runs nothing twice and leaves nothing behind`()
    async
  {
    var generator = SeededGenerator()
    for _ in 0..<400 {
      let graph = Graph(usesQueue: false)
      for _ in 0..<120 { graph.act(&generator) }
      #expect(await graph.end())
      #expect(await graph.leavesNothingBehind())
      #expect(graph.doubleHandled.value == 0)
      if graph.tracker.alive != 0 || graph.doubleHandled.value != 0 { break }
    }
  }

  @Test func `a graph grown by four threads settles, runs nothing twice, leaves nothing behind`()
    async
  {
    let seed = SeededGenerator()
    for round in 0..<60 {
      let graph = Graph(usesQueue: true)
      let ended = await RaceHarness(threads: 4, rounds: 1).run { _ in
      } act: { _, thread in
        var generator = SeededGenerator(seed: seed.seed &+ UInt64(round * 4 + thread))
        for _ in 0..<80 { graph.act(&generator) }
      }
      #expect(ended)
      #expect(await graph.end())
      #expect(await graph.leavesNothingBehind())
      #expect(graph.doubleHandled.value == 0)
      if graph.tracker.alive != 0 || graph.doubleHandled.value != 0 { break }
    }
  }
}
