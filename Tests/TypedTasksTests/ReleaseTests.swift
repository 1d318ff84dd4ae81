import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("The release of tasks that wait for each other", .timeLimit(.minutes(5)), .oneAtATime)
struct ReleaseTests {
  private final class Naming: ConsumerProducerTask<Int, Int, TestError>, @unchecked Sendable {
    private let log: Log<String>

    init(_ log: Log<String>, producing: ProducingTask) {
      self.log = log
      super.init(producing: producing)
    }

    deinit { log.append("\(producing.name ?? "") \(dependencies.count)") }
  }

  @Test("A consumer with an operator is dropped: its deinit may read the producer")
  func producer() {
    let log = Log<String>()
    let page = Sample<Int>(name: "page") { _, finish in finish(.success(1)) }
    var stage: ProducerTask<Int, TestError>? = Naming(log, producing: page).map { $0 }
    #expect(stage?.isFinished == false)
    stage = nil
    #expect(log.entries == ["page 1"])
  }

  @Test("A long chain of consumers whose deinits read their producers is dropped: needs no stack")
  func chain() async throws {
    let log = Log<String>()
    let tracker = LifetimeTracker()
    try await SmallStackThread.running {
      let tracked = tracker.make()
      var last: ProducerTask<Int, TestError> = Sample<Int>(name: "page") { _, finish in
        tracked.touch()
        finish(.success(1))
      }
      for number in 0..<100_000 {
        let next = Naming(log, producing: last)
        next.name = "\(number)"
        last = number % 3 == 0 ? next.map { $0 } : next
      }
    }
    #expect(log.count == 100_000)
    #expect(tracker.alive == 0)
  }
}
