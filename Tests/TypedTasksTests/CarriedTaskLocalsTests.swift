import Futures
import TestSupport
import Testing
import TypedTasks

private enum Tracing {
  @TaskLocal static var span = "none"
}

@Suite("Task-locals that travel with tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct CarriedTaskLocalsTests {
  private let queue = TaskQueue()

  init() { Promises.carry(Tracing.$span) }

  @Test func `attempts after a wait: the closures have the values of the place of the retry`()
    async
  {
    let spans = Log<String>()
    let policy = RetryPolicy(attempts: 3, delay: .constant(.milliseconds(1))) { _, _ in
      spans.append("policy \(Tracing.span)")
      return .retry
    }
    let makeTask: @Sendable (Int) -> BlockProducerTask<Int, TestError> = { attempt in
      spans.append("attempt \(attempt) \(Tracing.span)")
      return BlockProducerTask { _ throws(TestError) in
        spans.append("block \(attempt) \(Tracing.span)")
        throw TestError.first
      }
    }
    let task = Tracing.$span.withValue("here") { makeTask(1).retry(policy, makeTask) }
    queue.addTask(task)
    #expect(await task.outcome() == .provided)
    #expect(
      spans.entries == [
        "attempt 1 here", "block 1 here", "policy here", "attempt 2 here", "block 2 here",
        "policy here", "attempt 3 here", "block 3 here",
      ])
  }

  @Test func `async blocks have the values of the place where their task was made`() async {
    typealias Consumer = AsyncBlockConsumerProducerTask<String, String, TestError>
    let (producer, consumer, shorthand) = Tracing.$span.withValue("here") {
      let producer = AsyncBlockProducerTask<String, TestError> { _ in Tracing.span }
      return (
        producer,
        Consumer(producing: producer) { _, _ async throws(TestError) -> String in Tracing.span },
        Consumer(
          producing: producer,
          transform: { _ async throws(TestError) -> String in
            Tracing.span
          })
      )
    }
    queue.addTasks(producer, consumer, shorthand)
    for task in [producer, consumer, shorthand] as [ProducerTask<String, TestError>] {
      #expect(await task.outcome() == .success)
      #expect(task.success == "here")
    }
  }
}
