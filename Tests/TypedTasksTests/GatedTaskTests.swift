import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Tasks that run an operation", .timeLimit(.minutes(5)), .oneAtATime)
struct GatedTaskTests {
  @Test("Many gated tasks, one in the other, are dropped before they are in a queue: no stack")
  func nested() async throws {
    let tracker = LifetimeTracker()
    try await SmallStackThread.running {
      let tracked = tracker.make()
      var operation: Operation = BlockOperation { tracked.touch() }
      for _ in 0..<100_000 { operation = GatedTask(operation: operation) }
      withExtendedLifetime(operation) {}
    }
    #expect(tracker.alive == 0)
  }

  @Test("A gated task is kept: it keeps its operation, before and after it has run")
  func operation() async {
    let operation = BlockOperation {}
    let task = GatedTask(operation: operation)
    #expect(task.operation === operation)
    TaskQueue().addTask(task)
    _ = await task.completion
    #expect(operation.isFinished)
    #expect(task.operation === operation)
  }
}
