import Foundation
import Futures
import TestSupport
import Testing
import Workflows

/// Tasks with inputs take time in proportion to their number.
@Suite(.enabled(if: isStressing && isFullSize), .timeLimit(.minutes(5)), .serialized)
struct GrowthOfInputsTests {
  private static let bound = 8.0

  private static func ratio(_ body: @escaping @Sendable (Int) -> () -> Void) async throws -> Double
  {
    try await Growth.ratioOnSmallStack(below: bound, of: body)
  }

  @Test func `tasks in a row, each with the result of the one before`() async throws {
    let ratio = try await Self.ratio { count in
      {
        let workflow = Workflow(context: .inline)
        var last = try! workflow.add("0") { 0 }
        for number in 1..<count { last = try! workflow.add("\(number)", after: last) { $0 + 1 } }
        workflow.start()
        precondition(last.result == count - 1)
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test(arguments: [false, true])
  func `tasks that each have a context of their own`(_ isObject: Bool) async throws {
    struct Value: ExecutionContext {
      func execute(_ operation: Operation) { operation.start() }
    }
    final class Object: ExecutionContext {
      func execute(_ operation: Operation) { operation.start() }
    }
    let ratio = try await Self.ratio { count in
      {
        let workflow = Workflow(context: .inline)
        for number in 0..<count {
          let task = BlockWorkflowTask<Int>(name: "\(number)") { $0.finish(with: 1) }
          if isObject { task.setContext(Object()) } else { task.setContext(Value()) }
          try! workflow.add(task)
        }
        workflow.start()
        precondition(!workflow.hasUnfinishedTasks)
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `one task with the results of an array`() async throws {
    let ratio = try await Self.ratio { count in
      {
        let workflow = Workflow(context: .inline)
        let parts = (0..<count).map { number in try! workflow.add("\(number)") { number } }
        let sum = try! workflow.add("sum", after: parts) { $0.count }
        workflow.start()
        precondition(sum.result == count)
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test(arguments: [false, true])
  func `one task that reads the results of all its prerequisites by key`(
    _ isTyped: Bool
  ) async throws {
    let ratio = try await Self.ratio { count in
      let workflow = Workflow(context: .inline)
      var inputs: [AnyHashable: AnyWorkflowTask] = [:]
      for number in 0..<count { inputs["\(number)"] = try! workflow.add("\(number)") { number } }
      let sum = BlockWorkflowTask<Int>(name: "sum") { $0.finish(with: 0) }
      try! workflow.add(sum, keyedPrerequisites: inputs)
      workflow.start()
      return {
        // The tasks of a released workflow have no prerequisites.
        withExtendedLifetime(workflow) {
          for number in 0..<count {
            let result =
              isTyped
              ? try! sum.result(forKey: PrerequisiteKey<Int>("\(number)"))
              : sum.prerequisiteResult(forKey: "\(number)") as? Int
            precondition(result == number)
          }
        }
      }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `clean-up behind tasks that fail, that wait in vain and that are skipped`()
    async throws
  {
    let ratio = try await Self.ratio { count in
      {
        let workflow = Workflow(context: .inline)
        let first = try! workflow.add("first") { () throws -> Int in throw TestError.first }
        let ends = (0..<count).map { number in
          switch number % 3 {
          case 0: try! workflow.add("\(number)", after: first) { $0 }
          case 1: try! workflow.add("\(number)") { () throws -> Int in throw TaskSkipped() }
          default: try! workflow.add("\(number)") { () throws -> Int in throw TestError.second }
          }
        }
        let cleanUp = try! workflow.add("clean up", after: ends, when: .whenAllDone) { $0.count }
        let alert = try! workflow.add("alert", after: ends, when: .whenAnyFails) { $0.count }
        workflow.start()
        precondition(cleanUp.result == count && alert.result == count)
        workflow.retry()
        precondition(cleanUp.result == count)
        workflow.cancel()
        workflow.reset()
      }
    }
    #expect(ratio < Self.bound)
  }

  private final class Listener: WorkflowDelegate {
    let calls = Counter()
    func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) { calls.add() }
  }

  @Test func `calls for a delegate that wait for its context`() async throws {
    let ratio = try await Self.ratio { count in
      let (workflow, context, delegate) = (
        Workflow(context: .inline), ManualContext(), Listener()
      )
      for number in 0..<count { try! workflow.add("\(number)") {} }
      workflow.setDelegate(delegate, on: context)
      workflow.start()
      return {
        context.runAll()
        precondition(delegate.calls.value == count)
      }
    }
    #expect(ratio < Self.bound)
  }
}
