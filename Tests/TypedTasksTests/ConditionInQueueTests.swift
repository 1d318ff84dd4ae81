import Foundation
import Futures
import FuturesTestSupport
import OperationBridge
import TestSupport
import Testing
import TypedTasks

@Suite("Conditions of tasks in queues", .timeLimit(.minutes(5)), .oneAtATime)
struct ConditionInQueueTests {
  @Test("An async condition awaits its own task: the await throws a cycle")
  func conditionAwaitsItsTask() async {
    let queue = TaskQueue()
    let thrown = Log<String>()
    let task: Sample<Int> = succeeding(1)
    task.addCondition(
      BlockCondition { task async throws -> Bool in
        do { _ = try await (task as? Future<Int>)?.value } catch { thrown.append("\(error)") }
        return true
      })
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(thrown.entries.count == 1 && thrown.entries[0].contains("cycle"))
  }

  @Test("Two async conditions of an operator await one promise after the other: it gets its value")
  func conditionsOfAnOperator() async throws {
    for _ in 0..<200 {
      let queue = TaskQueue()
      let promises = (0..<4).map { _ in Promise<Int>() }
      let mapped = succeeding(7).map { $0 + 1 }
      for _ in 0..<2 {
        mapped.addCondition(
          BlockCondition { _ async throws -> Bool in
            for promise in promises { _ = try await promise.value }
            return true
          })
      }
      queue.addTask(mapped)
      for promise in promises {
        promise.succeed(with: 1)
        await Task.yield()
      }
      #expect(try await mapped.value == 8)
    }
  }

  @Test("An async condition reports progress: the progress of its task stays as it was")
  func conditionReports() async {
    let (queue, reported) = (TaskQueue(), Event())
    let answer = Promises.make(promising: Bool.self)
    let task = BlockProducerTask<Int, Never> { _ in 1 }
    task.addCondition(
      BlockCondition { _ async throws -> Bool in
        Promises.report(completed: 1, of: 2)
        reported.signal()
        return try await answer.value
      })
    queue.addTask(task)
    #expect(await reported.opened())
    #expect(task.currentProgress.fractionCompleted == 0)
    answer.succeed(with: true)
    #expect(await task.outcome() == .success)
  }

  @Test("A queue has refused a task: the task keeps no condition that is added afterwards")
  func conditionAfterARefusal() async throws {
    let queue = TaskQueue()
    _ = try await queue.shutDown(within: .seconds(1)).value
    let task = BlockProducerTask<Int, Never> { _ in 1 }
    queue.addTask(task)
    #expect(await task.outcome() == .otherInternal)
    task.addCondition(Conditions.Empty())
    #expect(task.conditions.isEmpty)
  }

  @Test("a condition that is not met does not advise to add a task twice")
  func adviceOfCondition() async throws {
    let task = succeeding(1).addCondition(BlockCondition(name: "disk") { _ in false })
    TaskQueue().addTask(task)
    _ = await task.completion
    guard case .failure(let error)? = task.produced else {
      Issue.record("\(task)")
      return
    }
    #expect(error.localizedDescription.contains("\"disk\" was not met. Add a new task when it is."))
  }
}
