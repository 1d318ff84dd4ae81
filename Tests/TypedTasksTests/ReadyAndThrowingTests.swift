import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Tasks that are ready, and closures that throw", .timeLimit(.minutes(5)), .oneAtATime)
struct ReadyAndThrowingTests {
  private let queue = TaskQueue()

  @Test("A task made with its result has it at once, and needs no queue")
  func ready() async throws {
    let value = Tasks.just(3)
    #expect(value.isFinished)
    #expect(value.name == "just")
    #expect(value.createdAt.fileID.hasSuffix("ReadyAndThrowingTests.swift"))
    #expect(try await value.value == 3)
    #expect(value.produced?.successOrNil == 3)
    let failed: ProducerTask<Int, TestError> = Tasks.fail(.second)
    #expect(failed.provided == .second)
    #expect(failed.name == "fail")
    #expect(Tasks.fail(TestError.first, producing: String.self).provided == .first)
    let log = Log<Int>()
    value.receive { _ in log.append(1) }
    #expect(log.entries == [1])
    // Cancelling it changes nothing.
    value.cancel()
    #expect(value.kind == .success)
    #expect(!value.isCancelled)
  }

  @Test("A task made with its result is added, depended on, consumed and joined like any other")
  func readyAmongOthers() async throws {
    let recorder = Rejections()
    queue.delegate = recorder
    let value: ProducerTask<Int, TestError> = Tasks.just(3)
    queue.addTask(value)
    queue.addTask(value)
    #expect(value.kind == .success)
    #expect(recorder.count.value == 0)
    let dependent = succeeding(1).addDependency(value)
    let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: value) {
      _, consumed, finish in finish(consumed)
    }
    let zipped = value.zip(succeeding(4), Tasks.just("a"))
    let group = GroupProducerTask(tasks: (value, succeeding("")), produced: value)
    queue.addAll([dependent, consumer, zipped, group])
    #expect(try await dependent.value == 1)
    #expect(try await consumer.value == 3)
    #expect(try await zipped.value == (3, 4, "a"))
    #expect(try await group.value == 3)
    let typed = Tasks.just(1).setFailureType(to: TestError.self).zip(value)
    let longer = Tasks.just(1).map { $0 + 1 }.flatMap { Tasks.just($0 + 1) }
    queue.addAll([typed, longer])
    #expect(try await typed.value == (1, 3))
    #expect(try await longer.value == 3)
    let stage = value.map { $0 + 1 }.flatMap { Tasks.just($0 * 2) }
    let recovered = failing().catch { _ in Tasks.just(5) }
    let again = failing().catch { error in Tasks.fail(error, producing: Int.self) }
    queue.addAll([stage, recovered, again])
    #expect(try await stage.value == 8)
    #expect(try await recovered.value == 5)
    #expect(await again.outcome() == .provided)
    #expect(again.provided == .first)
  }

  final class Rejections: TaskQueueDelegate {
    let count = Counter()
    func taskQueue<T: ProducerTaskProtocol>(
      _ queue: TaskQueue, didReject task: T, error: ProducerTaskError
    ) { count.add() }
  }

  @Test("A task that was finished by hand before it is added keeps its result")
  func finishedBefore() async {
    let task = Manual<Int>()
    task.finish(with: .success(2))
    queue.addTask(task)
    #expect(task.success == 2)
    #expect(task.executions.value == 0)
    await queue.finished()
  }

  @Test("A group without members ends at once; more are added before it executes")
  func emptyGroups() async {
    let none = GroupTask<TestError>()
    let named = NonFailGroupTask(name: "none")
    let valueless = GroupProducerTask<Int, TestError>()
    let consuming = GroupConsumerTask<Int, TestError>(producing: succeeding(1))
    let filled = GroupTask<TestError>()
    let member = succeeding(1)
    filled.addTask(member)
    queue.addAll([none, named, valueless, filled])
    queue.addTask(consuming.producing)
    queue.addTask(consuming)
    #expect(await none.outcome() == .success)
    #expect(await named.outcome() == .success)
    #expect(await valueless.outcome() == .execution)
    #expect(await consuming.outcome() == .success)
    #expect(await filled.outcome() == .success)
    #expect(member.kind == .success)
    let cancelled = GroupTask<TestError>()
    cancelled.cancel()
    queue.addTask(cancelled)
    #expect(await cancelled.outcome() == .cancelled)
  }

  @Test("A closure that returns is a success, one that throws a failure of the type that it has")
  func throwing() async throws {
    let value = BlockProducerTask<Int, TestError>(name: "value", qos: .utility) { _ in 1 }
    let nothing = NonFailBlockTask { _ in }
    let failed = BlockProducerTask<Int, TestError> { _ throws(TestError) in throw .second }
    let untyped = BlockProducerTask<Int, any Error> { _ in throw TestError.first }
    let stopped = BlockProducerTask<Int, any Error> { _ in throw CancellationError() }
    let passing = BlockProducerTask<Int, any Error> { _ in
      throw ProducerTaskProtocolError<any Error>.internal(ProducerTaskError.nilOutput)
    }
    queue.addAll([value, nothing, failed, untyped, stopped, passing])
    #expect(value.name == "value")
    #expect(value.qualityOfService == .utility)
    #expect(try await value.value == 1)
    #expect(await nothing.outcome() == .success)
    #expect(await failed.outcome() == .provided)
    #expect(failed.provided == .second)
    #expect(await untyped.outcome() == .provided)
    #expect(untyped.provided as? TestError == .first)
    #expect(await stopped.outcome() == .cancelled)
    #expect(await passing.outcome() == .nilOutput)
    // Cancelled before, it is not called; the closure is released.
    let tracker = LifetimeTracker()
    let cancelled: BlockProducerTask<Int, TestError>
    do {
      let tracked = tracker.make()
      cancelled = BlockProducerTask { _ in
        tracked.touch()
        return 1
      }
    }
    cancelled.cancel()
    queue.addTask(cancelled)
    #expect(cancelled.kind == .cancelled)
    #expect(tracker.alive == 0)
    // It sees the request to cancel.
    let (entered, proceed) = (Event(), Event())
    let looking = BlockProducerTask<Bool, TestError> { task in
      entered.signal()
      proceed.waitBlocking()
      return task.isCancelled
    }
    queue.addTask(looking)
    await entered.opened()
    looking.cancel()
    proceed.signal()
    #expect(try await looking.value)
  }

  @Test("A consumer's closure that throws fails the consumer, and hands on what it was given")
  func throwingConsumers() async throws {
    let producer = BlockProducerTask<Int, any Error> { _ in 20 }
    let consumer = BlockConsumerProducerTask<Int, Int, any Error>(
      name: "add", producing: producer
    ) { _, consumed in try consumed.get() + 1 }
    let failing = BlockProducerTask<Int, any Error> { _ in throw TestError.second }
    let handedOn = BlockConsumerProducerTask<Int, Int, any Error>(producing: failing) {
      _, consumed in try consumed.get() + 1
    }
    let cancelled = BlockProducerTask<Int, any Error> { _ in 1 }
    cancelled.cancel()
    let cancelledToo = BlockConsumerProducerTask<Int, Int, any Error>(producing: cancelled) {
      _, consumed in try consumed.get() + 1
    }
    let throwing = BlockConsumerProducerTask<Int, Int, any Error>(producing: producer) { _, _ in
      throw TestError.first
    }
    let typed = BlockConsumerProducerTask<Int, Int, TestError>(producing: succeeding(1)) {
      _, consumed throws(TestError) in
      if case .success(1) = consumed { throw .second }
      return 0
    }
    queue.addTask(typed.producing)
    queue.addAll([producer, consumer, failing, handedOn, cancelledToo, throwing, typed])
    #expect(consumer.name == "add")
    #expect(try await consumer.value == 21)
    #expect(await handedOn.outcome() == .provided)
    #expect(handedOn.provided as? TestError == .second)
    #expect(await cancelledToo.outcome() == .cancelled)
    #expect(await throwing.outcome() == .provided)
    #expect(throwing.provided as? TestError == .first)
    #expect(await typed.outcome() == .provided)
    #expect(typed.provided == .second)
  }

  @Test("103. get() gives the value, or the error with its type")
  func typedAwait() async throws {
    let fine = succeeding(1)
    let (failed, inside) = (failing(), broken())
    queue.addAll([fine, failed, inside])
    #expect(try await fine.get() == 1)
    do throws(ProducerTaskProtocolError<TestError>) {
      _ = try await failed.get()
      Issue.record("it has failed")
    } catch {
      #expect(error == .provided(.first))
    }
    do {
      _ = try await inside.get()
      Issue.record("it has failed")
    } catch .provided {
      Issue.record("nobody has provided an error")
    } catch .internal(let error) {
      #expect(error is InnerError)
    }
    // The end of the wait is not the end of the task.
    let pending = Manual<Int>()
    let wait = Task { () -> Bool in
      do throws(ProducerTaskProtocolError<TestError>) {
        _ = try await pending.get()
        return false
      } catch {
        guard case .internal(let error) = error else { return false }
        return error is CancellationError
      }
    }
    queue.addTask(pending)
    await pending.started.opened()
    wait.cancel()
    #expect(await wait.value)
    #expect(!pending.isCancelled)
    pending.finish(with: .success(3))
    #expect(try await pending.get() == 3)
  }

  @Test("11. An async closure that awaits a task of its own type of failure fails like that one")
  func asyncPassesOn() async {
    let cancelled = BlockProducerTask<Int, any Error> { _ in 1 }
    cancelled.cancel()
    let task = AsyncBlockProducerTask<Int, any Error> { _ in try await cancelled.get() }
    queue.addTask(task)
    #expect(await task.outcome() == .cancelled)
    // Cancelled itself, it is cancelled by the wait that ends.
    let pending = Manual<Int>()
    let waiting = AsyncBlockProducerTask<Int, any Error> { _ in try await pending.get() }
    queue.addTask(pending)
    queue.addTask(waiting)
    await pending.started.opened()
    waiting.cancel()
    #expect(await waiting.outcome() == .cancelled)
    #expect(!pending.isCancelled)
    pending.finish(with: .success(1))
  }
}
