import Synchronization
import TestSupport
import Testing

@testable import OrderWorkflow

@Suite("Timeline", .timeLimit(.minutes(5)), .oneAtATime)
struct TimelineTests {
  private let timeline = Timeline()
  private let log = Log<String>()

  private func note(_ text: String, after delay: Duration) {
    timeline.after(delay) { [log] in log.append(text) }
  }

  @Test("What is due happens in the order of time, then of asking")
  func order() {
    note("c", after: .seconds(2))
    note("a", after: .seconds(1))
    note("b", after: .seconds(1))
    note("d", after: .seconds(3))
    timeline.advance(to: .seconds(2))
    #expect(log.entries == ["a", "b", "c"])
    #expect(timeline.now == .seconds(2))
  }

  @Test("What is asked for by what happens comes in its turn, at its time")
  func nested() {
    timeline.after(.seconds(1)) { [timeline, log] in
      timeline.after(.seconds(1)) { log.append("at \(timeline.now)") }
    }
    timeline.advance(to: .seconds(5))
    #expect(log.entries == ["at 2.0 seconds"])
    #expect(timeline.now == .seconds(5))
  }

  @Test("Jumping goes from one thing to the next, and says when there is none")
  func jump() {
    note("a", after: .seconds(1))
    let removed = timeline.after(.seconds(2)) { [log] in log.append("removed") }
    note("b", after: .seconds(3))
    timeline.remove(removed)
    #expect(timeline.next == .seconds(1))
    #expect(timeline.jump())
    #expect(timeline.jump())
    #expect(!timeline.jump())
    #expect(log.entries == ["a", "b"])
    #expect(timeline.now == .seconds(3))
  }
}

@Suite("Chance", .timeLimit(.minutes(5)), .oneAtATime)
struct ChanceTests {
  @Test("About as many attempts fail as the probability says")
  func frequency() {
    let failed = (0..<10_000).count { seed in
      Chance(seed: UInt64(seed)).failure(of: "task", attempt: 1, probability: 0.15) != nil
    }
    #expect((1350...1650).contains(failed))
  }

  @Test("Probabilities 0 and 1 mean never and always, whatever the task says")
  func extremes() {
    for seed in 0..<100 as Range<UInt64> {
      let never = Chance(seed: seed, probability: 0)
      let always = Chance(seed: seed, probability: 1)
      #expect(never.failure(of: "task", attempt: 1, probability: 1) == nil)
      let part = always.failure(of: "task", attempt: 1, probability: 0)
      #expect(part.map { (0..<1).contains($0) } == true)
    }
  }
}
