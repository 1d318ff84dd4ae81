import Foundation
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
