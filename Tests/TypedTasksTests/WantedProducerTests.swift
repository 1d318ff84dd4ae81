import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Producers that several tasks want", .timeLimit(.minutes(5)), .oneAtATime)
struct WantedProducerTests {
  @Test func `an operator that its queue refuses does not keep its upstream wanted`() async throws {
    let (queue, closed, gate) = (TaskQueue(), TaskQueue(), Promise<Int>())
    _ = try await closed.shutDown(within: .seconds(10)).value
    let source: Sample<Int> = succeeding(1)
    source.addDependency(gate)
    let stage = source.map { $0 }
    queue.addTask(stage)
    let refused = Tasks.collect([source, source.map { $0 }])
    closed.addTask(refused)
    #expect(await refused.outcome() == .otherInternal)
    stage.cancel()
    #expect(await eventually { source.isCancelled })
  }

  @Test("A flatMap is cancelled in its closure, another operator wants the task: it goes on")
  func sharedInnerTask() async {
    let (queue, started, go) = (TaskQueue(), Event(), Event())
    let shared = BlockProducerTask<Int, Never> { _ in 5 }.eraseToProducerTask()
    let other = shared.map { $0 + 1 }
    let cancelled = BlockProducerTask<Int, Never> { _ in 1 }
      .flatMap { _ -> ProducerTask<Int, Never> in
        started.signal()
        _ = go.wait()
        return shared
      }
    queue.addTask(cancelled)
    #expect(await started.opened())
    cancelled.cancel()
    go.signal()
    #expect(await eventually { queue.operationCount == 0 })
    queue.addTask(other)
    #expect(await other.outcome() == .success)
    #expect(other.success == 6)
  }

  @Test("a producer goes on when a stage on it is cancelled, as long as a consumer waits for it")
  func consumerWants() async throws {
    let queue = TaskQueue()
    let producer = Manual<Int>()
    let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: producer) {
      _, consumed, finish in finish(consumed)
    }
    let stage = producer.map { $0 }
    queue.addTask(producer)
    queue.addTask(consumer)
    queue.addTask(stage)
    await producer.started.opened()
    stage.cancel()
    #expect(!producer.isCancelled)
    producer.finish(with: .success(3))
    #expect(try await consumer.value == 3)
  }

  @Test(
    "cancelling the last one who wanted a producer asks it to cancel, unless the user added it")
  func lastConsumerCancelled() async {
    let queue = TaskQueue()
    let producer = Manual<Int>()
    let consumers = (0..<2).map { _ in
      BlockConsumerProducerTask<Int, Int, TestError>(producing: producer) {
        _, consumed, finish in finish(consumed)
      }
    }
    // (It looks on.)
    let dependent = succeeding(1).addDependency(producer)
    for task: AnyFuture in [producer, dependent] + consumers { queue.addOperation(task) }
    await producer.started.opened()
    consumers[0].cancel()
    #expect(consumers[0].kind == .cancelled && !producer.isCancelled)
    consumers[1].cancel()
    #expect(consumers[1].kind == .cancelled && !producer.isCancelled && !producer.isFinished)
    producer.finish(with: .success(1))
    #expect(await dependent.outcome() == .success)
    // The same where the library has added the producer.
    let other = Manual<Int>()
    let stage = BlockConsumerProducerTask<Int, Int, TestError>(producing: other) {
      _, consumed, finish in finish(consumed)
    }.map { $0 }
    queue.addTask(stage)
    await other.started.opened()
    stage.cancel()
    #expect(other.isCancelled)
    other.finish(with: .success(1))
    // One that is in no queue yet stays as it is.
    let idle = succeeding(2)
    let early = BlockConsumerProducerTask<Int, Int, TestError>(producing: idle) {
      _, consumed, finish in finish(consumed)
    }
    queue.addTask(early)
    early.cancel()
    queue.addTask(idle)
    #expect(await idle.outcome() == .success)
    await queue.finished()
  }

  @Test("cancelling all that want a producer leaves it alone if the user has added it")
  func consumerCancelled() async throws {
    let queue = TaskQueue()
    let producer = Manual<Int>()
    let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: producer) {
      _, consumed, finish in finish(consumed)
    }
    let stage = producer.map { $0 }
    for task: AnyFuture in [producer, consumer, stage] { queue.addOperation(task) }
    await producer.started.opened()
    consumer.cancel()
    #expect(consumer.isFinished && !producer.isCancelled)
    stage.cancel()
    #expect(!producer.isCancelled)
    producer.finish(with: .failure(.internal(ProducerTaskError.cancelled)))
    _ = await producer.completion
  }
}
