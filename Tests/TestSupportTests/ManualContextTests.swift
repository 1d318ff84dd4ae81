import Foundation
import Futures
import TestSupport
import Testing

@Suite("ManualContext", .timeLimit(.minutes(5)), .oneAtATime)
struct ManualContextTests {
  private func filled(_ context: ManualContext, _ count: Int, _ log: Log<Int>) {
    for index in 0..<count { context.execute(BlockOperation { log.append(index) }) }
  }

  @Test func `operations wait until they are run, in order`() {
    let context = ManualContext()
    let log = Log<Int>()
    filled(context, 3, log)
    #expect(context.count == 3)
    #expect(log.entries == [])
    #expect(context.runNext())
    #expect(log.entries == [0])
    #expect(context.runAll() == 2)
    #expect(log.entries == [0, 1, 2])
    #expect(!context.runNext())
    #expect(context.executeCount == 3)
  }

  @Test func `runAll runs what comes meanwhile`() {
    let context = ManualContext()
    let log = Log<Int>()
    context.execute(
      BlockOperation { context.execute(BlockOperation { log.append(1) }) })
    #expect(context.runAll() == 2)
    #expect(log.entries == [1])
  }

  @Test func `dropped operations are released unrun`() {
    let context = ManualContext()
    let tracker = LifetimeTracker()
    let log = Log<Int>()
    do {
      let tracked = tracker.make()
      context.execute(
        BlockOperation {
          tracked.touch()
          log.append(1)
        })
    }
    #expect(tracker.alive == 1)
    #expect(context.dropAll() == 1)
    #expect(tracker.alive == 0)
    #expect(log.entries == [])
  }

  @Test func `another thread takes operations while one is picked: all others run`() {
    /// Picks the last one, and meanwhile takes the first.
    struct Taking: RandomNumberGenerator {
      let context: ManualContext
      func next() -> UInt64 {
        context.runNext()
        return .max
      }
    }
    let (context, log) = (ManualContext(), Log<Int>())
    filled(context, 9, log)
    var generator = Taking(context: context)
    context.runAll(using: &generator)
    #expect(context.count == 0 && log.entries.sorted() == Array(0..<9))
  }

  @Test func `the same seed gives the same order, another one another`() {
    func order(_ seed: UInt64) -> [Int] {
      let context = ManualContext()
      let log = Log<Int>()
      filled(context, 20, log)
      var generator = SeededGenerator(seed: seed)
      context.runAll(using: &generator)
      return log.entries
    }
    #expect(order(1) == order(1))
    #expect(order(1) != order(2))
    #expect(order(1).sorted() == Array(0..<20))
  }
}

/// The order in which operations are taken, among a changing number of them.
@Suite("The order of a ManualContext", .timeLimit(.minutes(5)), .oneAtATime)
struct ManualContextOrderTests {
  /// Numbers in a line, as the context is documented to keep them.
  private struct Model {
    var waiting: [Int] = []
    var taken: [Int] = []

    mutating func takeOne(using generator: inout SeededGenerator) {
      guard !waiting.isEmpty else { return }
      taken.append(waiting.remove(at: Int.random(in: 0..<waiting.count, using: &generator)))
    }

    mutating func takeNext() { if !waiting.isEmpty { taken.append(waiting.removeFirst()) } }
  }

  @Test(arguments: 0..<20)
  func `whatever comes and goes, the rest keeps its order`(_ seed: UInt64) {
    let context = ManualContext()
    let log = Log<Int>()
    var model = Model()
    var choices = SeededGenerator(seed: seed)
    var (generator, generatorOfModel) = (SeededGenerator(seed: 7), SeededGenerator(seed: 7))
    for number in 0..<2_000 {
      // First the line grows, then it shrinks until it is empty.
      switch Int.random(in: 0..<10, using: &choices) {
      case ..<(number < 1_000 ? 7 : 3):
        context.execute(BlockOperation { log.append(number) })
        model.waiting.append(number)
      case 9:
        context.runNext()
        model.takeNext()
      default:
        context.runOne(using: &generator)
        model.takeOne(using: &generatorOfModel)
      }
      #expect(context.count == model.waiting.count)
    }
    #expect(context.waiting.count == context.count)
    context.runAll()
    #expect(log.entries == model.taken + model.waiting)
    #expect(!context.runNext())
  }

  @Test func `dropping also drops what the dropped closures' futures ask for`() async {
    let context = ManualContext()
    let promise = Promise<Int>()
    let last = promise.mapToValue(on: context) { $0 }.recover(on: context) { _ in 2 }
      .mapToValue(on: context) { $0 }
    promise.succeed(with: 1)
    #expect(context.dropAll() == 2)
    #expect(context.count == 0)
    let error = await last.completion.failureValue as? ProperationsError
    guard case .brokenPromise = error else {
      Issue.record("the last future has not been broken: \(String(describing: error))")
      return
    }
  }
}
