import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks
import Workflows

@Suite("Typed tasks as work", .timeLimit(.minutes(5)), .oneAtATime)
struct TypedTaskBridgeTests {
  private typealias Typed = BlockProducerTask<Int, TestError>

  @Test("a typed task that was cancelled cancels the workflow's task")
  func cancelledTypedTask() async throws {
    let workflow = Workflow(name: "w")
    let task = try workflow.add(
      FutureWorkflowTask<Int>(name: "t") { _ in
        let typed = Typed { _, finish in finish(.success(1)) }
        typed.cancel()
        return typed
      })
    #expect(try await "\(workflow.run())" == "cancelled: t")
    #expect(task.isCancelled && task.error == nil)
  }

  @Test("a typed task that fails fails the workflow's task with its typed error")
  func failedTypedTask() async throws {
    let workflow = Workflow(name: "w")
    let task = try workflow.add(
      FutureWorkflowTask<Int>(name: "t") { _ in
        Typed { _, finish in finish(.failure(.provided(.first))) }
      })
    _ = try await workflow.run()
    #expect(
      task.error as? ProducerTaskProtocolError<TestError> == .provided(.first))
  }

  @Test(
    "a typed task in no queue, or a stage of one, is put in the queue of the workflow's task",
    arguments: [false, true])
  func idleTypedTask(usesTaskQueue: Bool) async throws {
    let queue = usesTaskQueue ? TaskQueue() : OperationQueue()
    let workflow = Workflow(name: "w", operationQueue: queue)
    let alone = try workflow.add(
      FutureWorkflowTask<Int>(name: "alone") { _ in Typed { _, finish in finish(.success(1)) } })
    let stage = try workflow.add(
      FutureWorkflowTask<Int>(name: "stage") { task in
        let before = try task.result(of: alone)
        return Typed { _, finish in finish(.success(before)) }.map { $0 + 1 }
      }, prerequisites: alone)
    #expect(try await workflow.run().isFinished)
    #expect(alone.result == 1 && stage.result == 2)
  }

  @Test("a typed task that is given as the future, and is in no queue, is put in one")
  func idleTypedTask() async throws {
    let workflow = Workflow(name: "w")
    let typed = Typed { _, finish in finish(.success(4)) }
    let task = try workflow.add(FutureWorkflowTask(name: "t", future: typed))
    #expect(try await workflow.run().isFinished)
    #expect(task.result == 4)
  }

  @Test("a typed task that is in a queue already stays there")
  func enqueuedTypedTask() async throws {
    let queue = TaskQueue(startSuspended: true)
    let workflow = Workflow(name: "w")
    let typed = Typed { _, finish in finish(.success(3)) }
    let task = try workflow.add(
      FutureWorkflowTask<Int>(name: "t") { _ in
        queue.addTask(typed)
        return typed
      })
    let run = workflow.start()
    while queue.taskCount == 0 { try await Task.sleep(for: .milliseconds(1)) }
    #expect(!typed.isFinished)
    queue.isSuspended = false
    #expect(try await run.value.isFinished)
    #expect(task.result == 3)
  }

  @Test("a failed typed task as an operation without a result fails the workflow's task")
  func failedOperation() async throws {
    let workflow = Workflow(name: "w")
    let task = try workflow.add(
      OperationWorkflowTask(name: "t") { _ in
        Typed { _, finish in finish(.failure(.provided(.first))) }
      })
    _ = try await workflow.run()
    #expect(task.error as? ProducerTaskProtocolError<TestError> == .provided(.first))
  }
}
