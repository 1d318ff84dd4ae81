import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Explanations of tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct TaskExplanationTests {
  @Test("A task that depends on a promise leads to the promise")
  func dependency() async throws {
    let queue = TaskQueue()
    let promise = Promise<Int>()
    let task = BlockProducerTask<Int, any Error> { _, finish in finish(.success(1)) }
    task.addDependency(promise)
    queue.addTask(task)
    let explanation = task.explain()
    #expect(explanation.roots.map { explanation.steps[$0].createdAt } == [promise.createdAt])
    promise.succeed(with: 1)
    #expect(try await task.value == 1)
  }

  @Test("A task in no queue, and one in a suspended queue, say so")
  func queues() async throws {
    let queue = TaskQueue()
    queue.name = "held"
    queue.isSuspended = true
    let task = BlockProducerTask<Int, any Error> { _, finish in finish(.success(1)) }
    #expect(task.explain().steps.first?.reasons.map(\.kind) == [.notStarted])
    queue.addTask(task)
    #expect(await eventually { task.explain().steps.first?.reasons.map(\.kind) == [.queue] })
    #expect(task.debugTree.contains("\"held\", which is suspended"))
    queue.isSuspended = false
    #expect(try await task.value == 1)
  }

  @Test("A task that depends on a plain operation names the operation")
  func operation() async throws {
    let queue = TaskQueue()
    let operation = BlockOperation {}
    operation.name = "import"
    let task = BlockProducerTask<Int, any Error> { _, finish in finish(.success(1)) }
    task.addDependency(operation)
    queue.addTask(task)
    #expect(task.explain().description.contains("It waits for the operation \"import\""))
    operation.start()
    #expect(try await task.value == 1)
  }

  @Test("A task that was just added to a suspended plain queue names the queue at once")
  func plainQueue() async throws {
    let queue = OperationQueue()
    queue.name = "held"
    queue.isSuspended = true
    var tasks: [BlockProducerTask<Int, any Error>] = []
    for _ in 0..<300 {
      let task = BlockProducerTask<Int, any Error> { _, finish in finish(.success(1)) }
      queue.addOperation(task)
      tasks.append(task)
      for _ in 0..<20 {
        let text = task.explain().description
        #expect(text.contains("\"held\", which is suspended"), "\(text)")
      }
    }
    queue.isSuspended = false
    for task in tasks { _ = try await task.value }
  }

  @Test("A task waits for a plain operation: its explanation names the operation")
  func explainedOperation() async {
    let operation = BlockOperation {}
    operation.name = "index"
    let task: Sample<Int> = succeeding(1)
    task.addDependencies([operation])
    TaskQueue().addTask(task)
    let text = "\(task.explain())"
    #expect(text.contains("It waits for the operation \"index\""))
    #expect(!text.contains("about to run"))
    OperationQueue().addOperation(operation)
    #expect(await task.outcome() == .success)
  }

  @Test("A retry waits for its next attempt: its explanation names the timer, and no closure")
  func explainedPause() async {
    let (queue, begun) = (TaskQueue(), Event())
    let retried = failing(Int.self).receive { _ in begun.signal() }
      .retry(attempts: 2, delay: .constant(.seconds(1000))) { _ in succeeding(1) }
    queue.addTask(retried)
    #expect(await begun.opened())
    #expect(await eventually { "\(retried.explain())".contains("timer") })
    #expect(!"\(retried.explain())".contains("closure"))
    retried.cancel()
    #expect(await retried.outcome() == .cancelled)
  }
}

@Suite("Explanations of tasks that are held back", .timeLimit(.minutes(5)), .oneAtATime)
struct HeldTaskExplanationTests {
  /// Answers when the test says so.
  private struct Answered: TaskCondition {
    let answer: Promise<Void>

    func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, TestError>) -> Void
    ) {
      answer.onSuccess(on: .inline) { completion(.success) }
    }
  }

  private struct Immediate: TaskCondition {
    func evaluate<T: ProducerTaskProtocol>(
      for task: T, completion: @escaping @Sendable (Result<Void, TestError>) -> Void
    ) { completion(.success) }
  }

  private func task() -> BlockProducerTask<Int, any Error> {
    BlockProducerTask { _, finish in finish(.success(1)) }
  }

  private func reasons(_ task: AnyFuture) -> [FutureExplanation.Reason] {
    task.explain().steps[0].reasons
  }

  @Test func `a condition that has not answered is named; one that has is not`() async throws {
    let queue = TaskQueue()
    let answer = Promise<Void>()
    let task = task()
    task.addCondition(Immediate())
    task.addCondition(Answered(answer: answer))
    queue.addTask(task)
    #expect(
      await eventually {
        reasons(task).map(\.description) == ["Its condition Answered has not answered."]
      })
    #expect(reasons(task).map(\.kind) == [.condition])
    answer.succeed()
    #expect(try await task.value == 1)
  }

  @Test func `of many conditions four are named, and the others are counted`() async throws {
    let queue = TaskQueue()
    let answer = Promise<Void>()
    let task = task()
    for _ in 0..<7 { task.addCondition(Answered(answer: answer)) }
    queue.addTask(task)
    #expect(await eventually { reasons(task).first?.kind == .condition })
    #expect(
      reasons(task).first?.description
        == "Its conditions Answered, Answered, Answered, Answered and 3 more have not answered.")
    task.cancel()
    #expect(reasons(task).map(\.kind) == [.settled])
  }

  @Test func `a task with a dependency waits for it, and for no slot`() async throws {
    let queue = TaskQueue()
    let promise = Promise<Int>()
    let task = task()
    task.addDependency(promise)
    queue.addTask(task)
    #expect(reasons(task).isEmpty)
    promise.succeed(with: 1)
    #expect(try await task.value == 1)
  }

  @Test func `a task behind a barrier says so`() async throws {
    let queue = TaskQueue(name: "b")
    let gate = Promise<Int>()
    let first = BlockProducerTask<Int, any Error> { _, finish in
      gate.onSuccess(on: .inline) { finish(.success($0)) }
    }
    queue.addTask(first)
    queue.addBarrierBlock {}
    let second = task()
    queue.addTask(second)
    #expect(
      reasons(second).map(\.description) == [
        "A barrier of the operation queue \"b\" holds it back, until everything in front of the "
          + "barrier has finished."
      ])
    gate.succeed(with: 1)
    #expect(try await second.value == 1)
  }
}
