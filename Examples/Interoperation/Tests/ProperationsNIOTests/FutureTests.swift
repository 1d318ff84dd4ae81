import Foundation
import NIOCore
import NIOPosix
import Properations
import ProperationsNIO
import TestSupport
import Testing

@Suite("Event loops' futures of futures", .timeLimit(.minutes(1)))
struct FutureTests {
  private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

  @Test("A future that has settled before gives its value")
  func settledBefore() async throws {
    let future = Promises.makeSucceeded(with: 7)
    #expect(try await future.eventLoopFuture(on: eventLoop).get() == 7)
  }

  @Test("A future that another thread settles completes on the event loop")
  func otherThread() async throws {
    let promise = Promise<Int>()
    let isOnLoop = promise.eventLoopFuture(on: eventLoop).map { [eventLoop] value in
      value == 3 && eventLoop.inEventLoop
    }
    Thread.detachNewThread { promise.succeed(with: 3) }
    #expect(try await isOnLoop.get())
  }

  @Test("A future that the event loop settles completes there")
  func ownThread() async throws {
    let promise = Promise<Int>()
    let reply = promise.eventLoopFuture(on: eventLoop)
    eventLoop.execute { promise.succeed(with: 4) }
    #expect(try await reply.get() == 4)
  }

  @Test("A failure is the failure of the event loop's future")
  func failure() async {
    let future: Future<Int> = Promises.makeFailed(with: TestError.second)
    await #expect(throws: TestError.second) {
      try await future.eventLoopFuture(on: eventLoop).get()
    }
  }

  @Test("Cancelling the future fails the event loop's future with the cancellation")
  func cancellation() async {
    let promise = Promise<Int>()
    let reply = promise.eventLoopFuture(on: eventLoop)
    promise.cancel()
    let error = await #expect(throws: ProperationsError.self) { try await reply.get() }
    guard case .cancelled? = error else {
      Issue.record("The error is \(String(describing: error)).")
      return
    }
  }

  @Test("A dropped promise fails the event loop's future")
  func brokenPromise() async {
    var promise: Promise<Int>? = Promise<Int>()
    let reply = promise?.mapToValue(on: .inline) { $0 }.eventLoopFuture(on: eventLoop)
    promise = nil
    let error = await #expect(throws: ProperationsError.self) { try await reply?.get() }
    guard case .brokenPromise? = error else {
      Issue.record("The error is \(String(describing: error)).")
      return
    }
  }

  @Test("A promise of an event loop is completed with the future's result")
  func promise() async throws {
    let promise = eventLoop.makePromise(of: String.self)
    Promises.makeSucceeded(with: "done").complete(promise)
    #expect(try await promise.futureResult.get() == "done")
  }
}
