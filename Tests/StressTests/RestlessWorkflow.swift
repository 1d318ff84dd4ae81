import Foundation
import Properations
import TestSupport

private final class Hooked: WorkflowTask<Int>, @unchecked Sendable {
  override func main() { finish(with: 1) }
  override func didReset() {}
  override func didCancel() {}
}

/// A workflow with others nested in it, and what a thread may do with it.
struct RestlessWorkflow {
  let workflow: Workflow
  var tasks: [AnyWorkflowTask] = []
  /// Here and in what is nested here.
  var conditions: [ExternalConditionTask<Int>] = []
  let pool = OperationQueue()

  init(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker, depth: Int = 0) throws {
    workflow =
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: Workflow(name: "\(depth)")
      case 1: Workflow(name: "\(depth)", context: .inline)
      default: Workflow(name: "\(depth)", context: .global())
      }
    for number in 0..<5 {
      let task = try make(number, &generator, tracker, depth)
      if Int.random(in: 0..<4, using: &generator) == 0 { task.timeout = .milliseconds(1) }
      if Int.random(in: 0..<4, using: &generator) == 0 {
        task.retryPolicy = RetryPolicy(attempts: 2)
      }
      let prerequisites = tasks.filter { _ in Int.random(in: 0..<3, using: &generator) == 0 }
      tasks.append(try workflow.add(task, prerequisites: prerequisites))
    }
  }

  private mutating func make(
    _ number: Int, _ generator: inout SeededGenerator, _ tracker: LifetimeTracker, _ depth: Int
  ) throws -> AnyWorkflowTask {
    let object = tracker.make()
    switch Int.random(in: 0..<8, using: &generator) {
    case 0:
      return BlockWorkflowTask<Int>(name: "block") { work in
        object.touch()
        work.finish(with: 1)
      }
    case 1:
      return BlockWorkflowTask<Int>(name: "later") { work in
        later {
          object.touch()
          work.finish(with: 1)
        }
      }
    case 2:
      return AsyncWorkflowTask<Int>(name: "async") { _ in
        object.touch()
        if number == 3 { throw TestError.first }
        await Task.yield()
        return 1
      }
    case 3:
      return FutureWorkflowTask<Int>(name: "future") { _ in
        Promises.run(on: .global()) {
          object.touch()
          return 3
        }
      }
    case 4:
      return OperationWorkflowTask<BlockOperation, Void>(name: "operation", in: pool) { _ in
        BlockOperation { object.touch() }
      }
    case 5:
      let condition = ExternalConditionTask<Int>(
        name: "condition", waitsForFulfillment: number % 2 == 0)
      conditions.append(condition)
      return condition
    case 6 where depth < 2:
      let inner = try RestlessWorkflow(&generator, tracker, depth: depth + 1)
      conditions += inner.conditions
      return SubworkflowTask<Int>(name: "nested", subworkflow: inner.workflow) { _ in
        object.touch()
        return 1
      }
    default:
      return Hooked(name: "hooked")
    }
  }

  func act(_ generator: inout SeededGenerator) {
    let task = tasks[Int.random(in: tasks.indices, using: &generator)]
    switch Int.random(in: 0..<14, using: &generator) {
    case 0: task.cancel()
    case 1: task.reset()
    case 2: task.retry()
    case 3: task.start()
    case 4, 5: workflow.start()
    case 6: workflow.cancel()
    case 7: workflow.reset()
    case 8: workflow.retry()
    case 9: workflow.start().cancel()
    case 10: (task as? ExternalConditionTask<Int>)?.fulfill(with: 1)
    case 11: _ = (workflow.dot, workflow.debugDescription)
    case 12: _ = workflow.trace
    default: _ = try? workflow.add(Hooked(name: "late"), prerequisites: task)
    }
  }
}
