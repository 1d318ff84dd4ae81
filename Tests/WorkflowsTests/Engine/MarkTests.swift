import Futures
import TestSupport
import Testing

@testable import Workflows

@Suite("Messages that need not go where they have been", .timeLimit(.minutes(5)), .oneAtATime)
struct MarkTests {
  private let workflow = inlineWorkflow()
  private let tasks: [WorkflowTask<Int>]
  private let condition = ExternalConditionTask<Int>(name: "c", waitsForFulfillment: true)

  /// A row of tasks that ends in a condition.
  init() throws {
    var tasks: [WorkflowTask<Int>] = []
    for number in 0..<100 {
      let task = OpenTask(name: "\(number)")
      try workflow.add(task, prerequisites: tasks.suffix(1))
      tasks.append(task)
    }
    try workflow.add(condition, prerequisites: tasks.suffix(1))
    self.tasks = tasks
  }

  /// The number of tasks at which the next message of the same kind ends.
  private var marked: Int { workflow.core.read { $0.graph.marks.tasks.count } }

  @Test func `a reset, a retry and a cancellation of a row that ends in a condition leave marks`() {
    tasks[0].reset()
    #expect(marked == 101)
    tasks[0].retry()
    #expect(marked == 101)
    tasks[0].cancel()
    #expect(marked == 101)
  }

  @Test func `a task without a mark runs: the marks stay; one with a mark fails: they go`() throws {
    let other = try workflow.add(OpenTask(name: "other"))
    tasks[50].reset()
    other.start()
    other.finish(with: 1)
    #expect(marked == 51)
    tasks[0].retry()
    tasks[0].start()
    other.reset()
    #expect(marked == 1)
    tasks[0].retry()
    tasks[0].fail(with: TestError.first)
    #expect(marked == 0)
    tasks[0].retry()
    #expect(tasks[0].isExecuting && marked == 101)
    tasks[0].cancel()
    #expect(tasks.allSatisfy { $0.isCancelled })
    tasks[0].reset()
    #expect(marked == 101 && tasks[0].isReady)
    tasks[0].start()
    #expect(marked == 0)
  }

  @Test func `a condition is fulfilled after a reset: the next reset revokes that, too`() {
    tasks[0].reset()
    #expect(condition.fulfill(with: 1) && condition.isFulfilled)
    tasks[5].reset()
    #expect(!condition.isFulfilled)
    #expect(condition.fulfill(with: 2))
    condition.reset()
    #expect(!condition.isFulfilled)
  }

  @Test func `a row that ends in a subworkflow: each reset reaches the tasks inside`() throws {
    let inner = inlineWorkflow("inner")
    let deep = try inner.add(counting("deep"))
    try workflow.add(SubworkflowTask(name: "sub", subworkflow: inner), prerequisites: condition)
    for _ in 0..<2 {
      inner.start()
      #expect(deep.isFinished)
      tasks[0].reset()
      #expect(deep.isReady && marked == 0)
    }
  }
}
