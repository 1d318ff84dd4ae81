import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

private typealias Consumer = AsyncBlockConsumerProducerTask<Int, String, any Error>
private typealias Producer = BlockProducerTask<Int, any Error>

@Suite("Async closures of consumers and conditions", .timeLimit(.minutes(5)), .oneAtATime)
struct AsyncConsumerTests {
  private let queue = TaskQueue(maxConcurrentTaskCount: 1)

  // MARK: Consumers

  @Test("An async consumer: gets the value of its producer, and its value is that of the closure")
  func value() async throws {
    let source = Producer { _ in 20 }
    let consumer = Consumer(producing: source) { _, consumed in
      await Task.yield()
      return String(try consumed.get() + 1)
    }
    queue.addTasks(source, consumer)
    #expect(try await consumer.value == "21")
  }

  @Test("The producer fails: the closure gets the error, and throws it on unchanged")
  func failedProducer() async {
    let source = Producer { _ in throw InnerError() }
    let consumer = Consumer(producing: source) { _, consumed in String(try consumed.get()) }
    let recovering = Consumer(producing: source) { _, consumed in
      (try? consumed.get()) == nil ? "none" : "some"
    }
    queue.addTasks(source, consumer, recovering)
    #expect(await recovering.completion.successValue == "none")
    _ = await consumer.completion
    guard case .failure(.provided(let error)) = consumer.produced else {
      Issue.record("\(consumer)")
      return
    }
    #expect(error is InnerError)
  }

  @Test(
    "A closure that gets the value: runs with it; without a value the task fails like the other")
  func values() async {
    let source = Producer { _ in 20 }
    let size = BlockConsumerProducerTask(producing: source) { number in number + 1 }
    let text = AsyncBlockConsumerProducerTask(producing: source) { number in
      await Task.yield()
      return "\(number + 1)"
    }
    queue.addTasks(source, size, text)
    #expect(await size.completion.successValue == 21)
    #expect(await text.completion.successValue == "21")
    let (failing, ran): (Sample<Int>, Counter) = (failing(with: .second), Counter())
    let next = BlockConsumerProducerTask(producing: failing) { _ in ran.add() }
    let async = AsyncBlockConsumerProducerTask(producing: failing) { (_: Int) async in
      ran.add()
    }
    let throwing = BlockConsumerProducerTask(producing: succeeding(1)) {
      _ throws(TestError) -> Int in
      throw .first
    }
    queue.addTasks(failing, next, async)
    queue.addTasks(throwing.producing, throwing)
    for task in [next, async] as [ProducerTask<Int, TestError>] {
      _ = await task.completion
      #expect(task.provided == .second)
    }
    _ = await throwing.completion
    #expect(throwing.provided == .first)
    #expect(ran.value == 0)
  }

  @Test("The other task is cancelled: a task that gets its value is cancelled, too")
  func cancelledProducer() async {
    let source = Sample<Int> { _, _ in }
    let next = BlockConsumerProducerTask(producing: source) { _ in 1 }
    let async = AsyncBlockConsumerProducerTask(producing: source) { (_: Int) async in 1 }
    source.cancel()
    queue.addTasks(source, next, async)
    #expect(await next.outcome() == .cancelled)
    #expect(await async.outcome() == .cancelled)
    #expect(next.isCancelled && async.isCancelled)
  }

  @Test("A consumer that cannot fail, and one with a typed error, compile without annotations")
  func types() async {
    let source = NonFailBlockProducerTask<Int> { _ in 1 }
    let sure = NonFailAsyncBlockConsumerProducerTask<Int, Int>(producing: source) { _, consumed in
      await Task.yield()
      return (try? consumed.get()) ?? 0
    }
    let other = Sample<Int> { _ throws(TestError) in 1 }
    let typed = AsyncBlockConsumerTask<Int, TestError>(producing: other) {
      _, consumed throws(TestError) in
      if case .success = consumed { throw .second }
    }
    queue.addTasks(source, sure, other, typed)
    #expect(await sure.completion.successValue == 1)
    _ = await typed.completion
    #expect(typed.provided == .second)
  }

  @Test("Cancelled while it runs: the closure's Swift task is cancelled, the slot kept until then")
  func cancelled() async {
    let (source, begun, goOn) = (Producer { _ in 1 }, Event(), Event())
    let consumer = Consumer(producing: source) { _, _ in
      begun.signal()
      while !Task.isCancelled { await Task.yield() }
      _ = await goOn.opened()
      throw CancellationError()
    }
    let next: Sample<Int> = succeeding(1)
    queue.addTasks(source, consumer)
    #expect(await begun.opened())
    queue.addTask(next)
    consumer.cancel()
    #expect(!next.isFinished)
    goOn.signal()
    #expect(await consumer.outcome() == .cancelled)
    #expect(await next.outcome() == .success)
  }

  @Test("Cancelled before its producer has finished: the closure never runs and is released")
  func neverRuns() async throws {
    let (source, ran) = (Producer { _, _ in }, Counter())
    let slots = queue
    var kept: Consumer?
    try await expectReleased { tracker in
      let object = tracker.track(Counter())
      let consumer = Consumer(producing: source) { _, _ in
        ran.add()
        return "\(object.value)"
      }
      slots.addTask(consumer)
      consumer.cancel()
      #expect(await consumer.outcome() == .cancelled)
      kept = consumer
    }
    #expect(ran.value == 0)
    _ = kept
  }

  @Test("An async consumer awaits a task that needs its slot: the await is refused")
  func ownSlot() async {
    let (source, next, refused) = (Producer { _ in 1 }, succeeding(1) as Sample<Int>, Counter())
    let consumer = Consumer(producing: source) { _, _ in
      do { return String(try await next.value) } catch ProperationsError.wouldDeadlock {
        refused.add()
        return ""
      }
    }
    queue.addTasks(source, consumer)
    #expect(await eventually { consumer.isExecuting || consumer.isFinished })
    queue.addTask(next)
    #expect(await consumer.completion.successValue == "")
    #expect(refused.value == 1)
    #expect(await next.outcome() == .success)
  }

  // MARK: Conditions

  @Test("An async condition: true lets the task run, false and an error fail it")
  func conditions() async {
    let task: Sample<Int> = succeeding(1)
    task.addCondition(
      BlockCondition { _ in
        await Task.yield()
        return true
      })
    let unmet: Sample<Int> = succeeding(1)
    unmet.addCondition(
      BlockCondition(name: "open") { _ in
        await Task.yield()
        return false
      })
    let failing: Sample<Int> = succeeding(1)
    failing.addCondition(
      BlockCondition { _ in
        await Task.yield()
        throw InnerError()
      })
    queue.addTasks(task, unmet, failing)
    #expect(await task.outcome() == .success)
    #expect(await unmet.outcome() == .conditions)
    #expect(await failing.outcome() == .conditions)
    #expect((errors(of: unmet).first as? BlockCondition.Unmet)?.name == "open")
    #expect(errors(of: failing).first is InnerError)
  }

  @Test("The task is cancelled while its async condition waits: the Swift task is cancelled")
  func cancelledCondition() async {
    let (asked, stopped) = (Event(), Event())
    let task: Sample<Int> = succeeding(1)
    task.addCondition(
      BlockCondition { _ in
        asked.signal()
        while !Task.isCancelled { await Task.yield() }
        stopped.signal()
        return true
      })
    queue.addTask(task)
    #expect(await asked.opened())
    task.cancel()
    #expect(await stopped.opened())
    #expect(await task.outcome() == .cancelled)
  }

  @Test("A closure that does not await: is a condition that is asked without a Swift task")
  func syncCondition() async {
    let (task, thread) = (succeeding(1) as Sample<Int>, Box(true))
    task.addCondition(
      BlockCondition { _ in
        thread.value = withUnsafeCurrentTask { $0 != nil }
        return true
      })
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(thread.value == false)
  }

  private func errors(of task: Sample<Int>) -> [any Error] {
    guard case .failure(.internal(ProducerTaskError.conditionsFailure(let errors))) = task.produced
    else { return [] }
    return errors
  }
}
