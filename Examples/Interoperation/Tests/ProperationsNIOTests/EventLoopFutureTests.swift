import NIOCore
import NIOEmbedded
import NIOPosix
import Properations
import ProperationsNIO
import TestSupport
import Testing

@Suite("Futures of event loops", .timeLimit(.minutes(1)))
struct EventLoopFutureTests {
  private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

  @Test("The example of the page: a value goes from an event loop through a queue and back")
  func example() async throws {
    let work = eventLoop.submit { 20 }

    let doubled = work.future()
      .mapToValue(on: .global()) { $0 * 2 }
      .mapToValue(on: .eventLoop(eventLoop)) { [eventLoop] number in
        eventLoop.assertInEventLoop()
        return number + 2
      }

    let reply: EventLoopFuture<Int> = doubled.eventLoopFuture(on: eventLoop)
    #expect(try await reply.get() == 42)
  }

  @Test("An event loop's future that has completed before gives its value")
  func completedBefore() async throws {
    #expect(try await eventLoop.makeSucceededFuture(7).future().value == 7)
  }

  @Test("A failure of the event loop's future is the failure of the future")
  func failure() async {
    let failed: EventLoopFuture<Int> = eventLoop.makeFailedFuture(TestError.first)
    let future = failed.future()
    await #expect(throws: TestError.first) { try await future.value }
  }

  @Test("A future settles when the event loop completes its promise")
  func completedLater() async throws {
    let promise = eventLoop.makePromise(of: Int.self)
    let future = promise.futureResult.future()
    #expect(!future.isFulfilled)
    promise.succeed(3)
    #expect(try await future.value == 3)
  }

  @Test("Cancelling the future calls the closure once, and the later value is dropped")
  func cancellation() async throws {
    let promise = eventLoop.makePromise(of: Int.self)
    let calls = Counter()
    let future = promise.futureResult.future { calls.add() }
    future.cancel()
    future.cancel()
    await #expect(throws: ProperationsError.self) { try await future.value }
    #expect(future.isCancelled)
    #expect(calls.value == 1)
    promise.succeed(1)
    #expect(try await promise.futureResult.get() == 1)
    #expect(future.isCancelled)
  }

  @Test("A future that has settled does not call the closure when it is cancelled")
  func cancelledTooLate() async throws {
    let calls = Counter()
    let future = eventLoop.makeSucceededFuture(1).future { calls.add() }
    _ = try await future.value
    future.cancel()
    #expect(calls.value == 0)
  }

  @Test(
    "An error that means cancellation cancels the future",
    arguments: [CancellationError() as any Error, EventLoopError.cancelled])
  func cancelledUpstream(error: any Error) async {
    let failed: EventLoopFuture<Int> = eventLoop.makeFailedFuture(error)
    let future = failed.future()
    _ = await future.completion
    #expect(future.isCancelled)
  }

  @Test("Cancelling the future of a scheduled task cancels the task")
  func scheduled() throws {
    let eventLoop = EmbeddedEventLoop()
    let runs = Counter()
    let future = eventLoop.scheduleTask(in: .seconds(1)) { runs.add() }.future()
    future.cancel()
    eventLoop.advanceTime(by: .seconds(2))
    #expect(runs.value == 0)
    #expect(future.isCancelled)
    try eventLoop.syncShutdownGracefully()
  }

  @Test("Cancelling a scheduled task cancels its future")
  func scheduledUpstream() throws {
    let eventLoop = EmbeddedEventLoop()
    let task = eventLoop.scheduleTask(in: .seconds(1)) { 1 }
    let future = task.future()
    task.cancel()
    eventLoop.run()
    #expect(future.isCancelled)
    try eventLoop.syncShutdownGracefully()
  }

  @Test("A future of a scheduled task has its value when the time has come")
  func scheduledValue() throws {
    let eventLoop = EmbeddedEventLoop()
    let future = eventLoop.scheduleTask(in: .seconds(1)) { 5 }.future()
    eventLoop.advanceTime(by: .seconds(1))
    #expect(try future.result?.get() == 5)
    try eventLoop.syncShutdownGracefully()
  }
}
