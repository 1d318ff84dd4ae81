import Foundation
import TestSupport
import Testing

@Suite("Threads of tests", .timeLimit(.minutes(5)), .oneAtATime)
struct ThreadTests {
  @Test func `a small stack is small, and its closure's result comes back`() async throws {
    let size = try await SmallStackThread.running { Thread.current.stackSize }
    #expect(size == 512 * 1024)
    let error = await #expect(throws: TestError.self) {
      try await SmallStackThread.running { throw TestError.second }
    }
    #expect(error == .second)
  }

  @Test func `a closure that does not end in time is given up`() async {
    let event = Event()
    await #expect(throws: SmallStackThread.TimedOut.self) {
      try await SmallStackThread.running(within: .milliseconds(5)) { _ = event.wait() }
    }
    event.signal()
  }

  @Test func `each thread of a race acts once a round, on that round's subject`() async {
    let acts = Log<[Int]>()
    let checks = Log<Int>()
    let ended = await RaceHarness(threads: 3, rounds: 10).run { round in
      round
    } act: { round, thread in
      acts.append([round, thread])
    } check: { subject, round in
      if subject == round { checks.append(round) }
    }
    #expect(ended)
    #expect(Set(acts.entries).count == 30)
    #expect(acts.count == 30)
    #expect(checks.entries == Array(0..<10))
  }

  @Test func `a race that does not end is given up`() async {
    let event = Event()
    let ended = await RaceHarness(threads: 2, rounds: 1).run(within: .milliseconds(5)) { _ in
    } act: { _, _ in
      event.wait()
    }
    #expect(!ended)
    event.signal()
  }

  @Test func `nobody passes a barrier before all have come`() async {
    let barrier = Barrier(4)
    let arrived = Counter()
    let tooEarly = Counter()
    let done = Event()
    let passed = Counter()
    for _ in 0..<4 {
      Thread {
        arrived.add()
        barrier.meet()
        if arrived.value < 4 { tooEarly.add() }
        if passed.add() == 4 { done.signal() }
      }.start()
    }
    #expect(await done.opened())
    #expect(tooEarly.value == 0)
  }

  @Test func `equal seeds give equal numbers`() {
    var (a, b) = (SeededGenerator(seed: 7), SeededGenerator(seed: 7))
    var c = SeededGenerator(seed: 8)
    let numbers = (0..<10).map { _ in a.next() }
    #expect(numbers == (0..<10).map { _ in b.next() })
    #expect(numbers != (0..<10).map { _ in c.next() })
    #expect(Set(numbers).count == 10)
  }
}
