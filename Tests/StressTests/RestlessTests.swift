import Foundation
import Properations
import TestSupport
import Testing

/// Small random programs whose parts three threads use as they please, at the
/// same time, and then let go of.
///
/// A seed gives the program and what the threads do, not when. Nothing may crash
/// (the sanitizers watch), everything must end, and nothing may be left over.
@Suite("Restless programs", .timeLimit(.minutes(10)), .oneAtATime)
struct RestlessTests {
  private static let count = isStressing ? times(5_000) : 150

  /// Lets three threads act, with a generator each.
  private static func threads(
    _ generator: inout SeededGenerator, _ act: @escaping @Sendable (inout SeededGenerator) -> Void
  ) async {
    let seeds = (0..<3).map { _ in generator.next() }
    await withTaskGroup(of: Void.self) { group in
      for seed in seeds {
        group.addTask {
          var generator = SeededGenerator(seed: seed)
          for _ in 0..<10 { act(&generator) }
        }
      }
    }
  }

  private static func later(_ body: @escaping @Sendable () -> Void) {
    DispatchQueue.global().async(execute: body)
  }

  /// Plays programs; none may leave anything of what it has made.
  private static func play(
    _ program: @Sendable (inout SeededGenerator, LifetimeTracker) async throws -> String?
  ) async rethrows {
    try await SeededSchedules.play("RestlessTests", count: count) { generator in
      let tracker = LifetimeTracker()
      if let fault = try await program(&generator, tracker) { return fault }
      if tracker.alive == 0 { return nil }
      return await eventually(within: .seconds(30)) { tracker.alive == 0 }
        ? nil : "\(tracker.alive) closures are kept"
    }
  }

  // MARK: Futures

  private struct SomeFutures {
    let pool = OperationQueue()
    let serial = OperationQueue()
    var promises: [Promise<Int>] = []
    var all: [Future<Int>] = []

    init(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker) {
      serial.maxConcurrentOperationCount = 1
      for _ in 0..<4 { promises.append(promise(&generator, tracker)) }
      all = promises
      for _ in 0..<12 { grow(&generator, tracker) }
    }

    private func promise(
      _ generator: inout SeededGenerator, _ tracker: LifetimeTracker
    ) -> Promise<Int> {
      let object = tracker.make()
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: return Promises.make(promising: Int.self)
      case 1: return Promises.make(promising: Int.self, on: pool)
      case 2:
        return Promises.makeBlocking(on: serial, promising: Int.self) { promise in
          object.touch()
          promise.succeed(with: 1)
        }
      default:
        return Promises.makeBlocking(on: serial, promising: Int.self) { promise in
          later {
            object.touch()
            promise.succeed(with: 3)
          }
        }
      }
    }

    /// Adds a future that is made of others.
    private mutating func grow(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker) {
      let first = all[Int.random(in: all.indices, using: &generator)]
      let second = all[Int.random(in: all.indices, using: &generator)]
      let object = tracker.make()
      switch Int.random(in: 0..<17, using: &generator) {
      case 0:
        all.append(
          first.mapToValue(on: .inline) { value in
            object.touch()
            return value + 1
          })
      case 1:
        all.append(
          first.mapToValue(on: .global()) { value in
            object.touch()
            if value % 3 == 0 { throw TestError.first }
            return value
          })
      case 2:
        all.append(
          first.mapToFuture(on: .inline) { _ in
            object.touch()
            return second
          })
      case 3:
        all.append(
          first.mapToFuture(on: pool) { value in
            let promise = Promises.make(promising: Int.self)
            later {
              object.touch()
              promise.succeed(with: value)
            }
            return promise
          })
      case 4:
        all.append(
          first.recover(on: pool) { _ in
            object.touch()
            return 7
          })
      case 5:
        all.append(
          first.recover(on: .inline) { _ in
            object.touch()
            throw TestError.second
          })
      case 6: all.append(first || second)
      case 7: all.append(Promises.combine(first, second).mapToValue(on: .inline) { $0 + $1 })
      case 8:
        all.append(
          first.mapToValue(on: serial) { value in
            object.touch()
            return value
          })
      case 9: first.onSuccess(on: .global()) { _ in object.touch() }
      case 10: first.onCompletion(on: pool) { _ in object.touch() }
      case 11: all.append(first.timeout(after: .milliseconds(1)))
      case 12:
        let operation = BlockOperation { object.touch() }
        operation.addDependency(first)
        all.append(operation.future.mapToValue(on: .inline) { 4 })
        pool.addOperation(operation)
      case 13: first.cancel(onFailureOf: second)
      case 14:
        all.append(
          pool.run {
            object.touch()
            return 5
          })
      case 15:
        let promise = Promises.make(promising: Int.self)
        all.append(promise)
        promise.fulfill(from: first)
      default: all.append(first.shielded())
      }
    }

    func act(_ generator: inout SeededGenerator) {
      let promise = promises[Int.random(in: promises.indices, using: &generator)]
      let future = all[Int.random(in: all.indices, using: &generator)]
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<5: promise.succeed(with: Int.random(in: 0..<10, using: &generator))
      case 5, 6: promise.fail(with: TestError.first)
      case 7..<10: future.cancel()
      case 10, 11: _ = future.debugDescription
      case 12, 13: future.onSuccess(on: .inline) { _ in }
      case 14, 15: _ = future.mapToValue(on: .inline) { $0 }
      case 16, 17: Task { _ = try? await future.value }
      case 18: pool.cancelAllOperations()
      default: serial.cancelAllOperations()
      }
    }
  }

  @Test("futures that three threads settle, cancel, await and chain on all settle, and go")
  func futures() async {
    await Self.play { generator, tracker in
      let futures = SomeFutures(&generator, tracker)
      let waiting = Task { [last = futures.all.last] in try? await last?.value }
      if Bool.random(using: &generator) { waiting.cancel() }
      await Self.threads(&generator) { futures.act(&$0) }
      for promise in futures.promises { promise.succeed(with: 1) }
      _ = await waiting.value
      let settled = await eventually(within: .seconds(30)) {
        futures.all.allSatisfy { $0.isFulfilled }
      }
      return settled ? nil : "\(futures.all.filter { !$0.isFulfilled })"
    }
  }

  // MARK: Typed tasks

  private struct SomeTasks {
    typealias Stage = ProducerTask<Int, TestError>

    let queues = [TaskQueue(), TaskQueue(maxConcurrentTasks: 1), TaskQueue(maxConcurrentTasks: 2)]
    var all: [Stage] = []

    init(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker) {
      for number in 0..<5 { all.append(source(number, &generator, tracker)) }
      for _ in 0..<10 { grow(&generator, tracker) }
    }

    private func source(
      _ number: Int, _ generator: inout SeededGenerator, _ tracker: LifetimeTracker
    ) -> Stage {
      let object = tracker.make()
      let kind = Int.random(in: 0..<5, using: &generator)
      let task: Stage = BlockProducerTask { _, finish in
        object.touch()
        switch kind {
        case 0, 1: finish(.success(number))
        case 2: finish(.failure(.provided(.first)))
        case 3: later { finish(.success(number)) }
        default: later { finish(.failure(.provided(.second))) }
        }
      }
      switch Int.random(in: 0..<6, using: &generator) {
      case 0:
        task.addCondition(
          BlockCondition(evaluate: { _, completion in later { completion(.success) } }))
      case 1: task.addCondition(Conditions.MutuallyExclusive<Int>())
      case 2: task.addObserver(Observers.Timeout(.milliseconds(1)))
      default: break
      }
      return task
    }

    private mutating func grow(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker) {
      let first = all[Int.random(in: all.indices, using: &generator)]
      let second = all[Int.random(in: all.indices, using: &generator)]
      let object = tracker.make()
      switch Int.random(in: 0..<15, using: &generator) {
      case 0:
        all.append(
          first.map { value in
            object.touch()
            return value + 1
          })
      case 1:
        all.append(
          first.flatMap { value in
            BlockProducerTask<Int, TestError> { _, finish in
              later {
                object.touch()
                finish(.success(value))
              }
            }
          })
      case 2 where first !== second: all.append(first.zip(second).map { $0 + $1 })
      case 3:
        all.append(
          first.catch { _ -> Stage in
            object.touch()
            return Tasks.just(1)
          })
      case 4:
        all.append(
          first.retry(2) { _ -> Stage in
            object.touch()
            return BlockProducerTask { _, finish in finish(.failure(.provided(.first))) }
          })
      case 5: all.append(first.timeout(after: .milliseconds(1)))
      case 6: all.append(first.share())
      case 7 where first !== second: all.append(first.firstOf(second))
      case 8: all.append(first.delay(for: .microseconds(100)))
      case 9: first.receive { _ in object.touch() }
      case 10: first.addDependency(second)
      case 11:
        let member: Stage = BlockProducerTask { _, finish in
          object.touch()
          finish(.success(6))
        }
        all.append(GroupProducerTask(tasks: (first, member), produced: member))
      case 12: all.append(GroupProducerTask(tasks: (first, second), produced: second))
      case 13:
        let consumer = BlockConsumerTask<Int, TestError>(producing: first) { _, _, finish in
          object.touch()
          finish(.success)
        }
        all.append(consumer.map { 7 })
      default: all.append(first.filter { $0 > 1 })
      }
    }

    func act(_ generator: inout SeededGenerator) {
      let task = all[Int.random(in: all.indices, using: &generator)]
      let queue = queues[Int.random(in: queues.indices, using: &generator)]
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<10: queue.addTask(task)
      case 10..<13: task.cancel()
      case 13, 14: _ = task.debugDescription
      case 15, 16: Task { _ = try? await task.value }
      case 17: queue.cancelAllTasks()
      default: _ = task.map { $0 }
      }
    }
  }

  @Test("tasks that three threads enqueue, cancel, await and chain on all finish, and go")
  func tasks() async {
    await Self.play { generator, tracker in
      let tasks = SomeTasks(&generator, tracker)
      await Self.threads(&generator) { tasks.act(&$0) }
      for task in tasks.all { task.cancel() }
      for queue in tasks.queues { queue.cancelAllTasks() }
      let finished = await eventually(within: .seconds(30)) {
        tasks.all.allSatisfy { $0.isFinished } && tasks.queues.allSatisfy { $0.taskCount == 0 }
      }
      return finished ? nil : "\(tasks.all.filter { !$0.isFinished })"
    }
  }

  // MARK: Workflows

  private final class Hooked: WorkflowTask<Int>, @unchecked Sendable {
    override func main() { finish(with: 1) }
    override func didReset() {}
    override func didCancel() {}
  }

  private struct SomeWorkflow {
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
          task.retryPolicy = TaskRetryPolicy(attempts: 2)
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
        return OperationWorkflowTask<BlockOperation, Void>(name: "operation", on: pool) { _ in
          BlockOperation { object.touch() }
        }
      case 5:
        let condition = ExternalConditionTask<Int>(
          name: "condition", waitsForFulfillment: number % 2 == 0)
        conditions.append(condition)
        return condition
      case 6 where depth < 2:
        let inner = try SomeWorkflow(&generator, tracker, depth: depth + 1)
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

  @Test("workflows that three threads used come to rest, cancelled or not, and go")
  func workflows() async throws {
    try await Self.play { generator, tracker in
      let program = try SomeWorkflow(&generator, tracker)
      if Bool.random(using: &generator) {
        let events = program.workflow.events
        Task { for await _ in events {} }
      }
      await Self.threads(&generator) { program.act(&$0) }
      if Bool.random(using: &generator) {
        program.workflow.cancel()
        return nil
      }
      let outcome = program.workflow.retry()
      let isAtRest = await eventually(within: .seconds(30)) {
        // (Again and again: a reset may just be on its way.)
        for condition in program.conditions { condition.fulfill(with: 1) }
        return outcome.isFulfilled
      }
      return isAtRest ? nil : "goes on: \(program.workflow.debugDescription)"
    }
  }
}
