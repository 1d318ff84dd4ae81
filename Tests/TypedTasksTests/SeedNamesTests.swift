import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("The names of PSTask", .timeLimit(.minutes(5)), .oneAtATime)
struct SeedNamesTests {
  @available(*, deprecated)
  @Test("The error of a consumer without input has its old name")
  func consumerError() {
    let error: ProducerTaskError = ConsumerProducerTaskError.producingFailure
    guard case .producingFailure = error else {
      Issue.record("\(error)")
      return
    }
  }

  @available(*, deprecated)
  @Test("A function with the builder's old name takes conditions")
  func conditionBuilder() {
    func count(@ConditionBuilder _ conditions: () -> [AnyCondition]) -> Int { conditions().count }
    let found = count {
      Conditions.Empty()
      Conditions.NoCancelledDependencies()
    }
    #expect(found == 2)
  }

  @available(*, deprecated)
  @Test("A barrier block's old name: it runs after what is before it, and before the rest")
  func barrierBlock() async {
    let (queue, log, last) = (TaskQueue(startSuspended: true), Log<String>(), Event())
    for number in 1...3 { queue.addBlock { log.append("before \(number)") } }
    queue.addBarrierBlockTask { log.append("barrier") }
    queue.addBlock {
      log.append("after")
      last.signal()
    }
    queue.isSuspended = false
    #expect(await last.opened())
    #expect(log.entries.count == 5)
    #expect(log.entries.suffix(2) == ["barrier", "after"])
  }
}
