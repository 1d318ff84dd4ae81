import Foundation
import TestSupport
import Testing

@testable import Workflows

@Suite("Tasks that share a context", .timeLimit(.minutes(5)), .oneAtATime)
struct PoolTests {
  /// On Linux each access to such a queue makes a new object.
  @Test func `tasks on the main queue: the one with the highest priority runs first`()
    async throws
  {
    let workflow = Workflow(name: "w")
    let log = Log<String>()
    for (name, priority) in [
      ("low", Operation.QueuePriority.low), ("normal", .normal), ("high", .high),
    ] {
      let task = try workflow.add(name, on: DispatchQueue.main) { log.append(name) }
      task.priority = priority
    }
    #expect(try await workflow.run().isFinished)
    #expect(log.entries == ["high", "normal", "low"])
  }

  @Test func `tasks on one global queue share a pool, those on others do not`() throws {
    let workflow = Workflow(name: "w")
    for name in 0..<10 {
      try workflow.add("\(name)", on: .global()) {}
      try workflow.add("main \(name)", on: .main) {}
      try workflow.add("background \(name)", on: .global(qos: .background)) {}
    }
    #expect(workflow.core.read { $0.pools.all.count } == 4)
    for _ in 0..<10 { try workflow.add("own", on: DispatchQueue(label: "own")) {} }
    #expect(workflow.core.read { $0.pools.all.count } == 14)
  }
}
