import NIOCore
import NIOEmbedded
import NIOPosix
import Properations
import ProperationsNIO
import TestSupport
import Testing

@Suite("Event loops as contexts", .timeLimit(.minutes(1)))
struct EventLoopContextTests {
  @Test("Closures run on the event loop, whichever thread settles the future upstream")
  func runsOnLoop() async throws {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let promise = Promise<Int>()
    let isOnLoop = promise.mapToValue(on: .eventLoop(eventLoop)) { _ in eventLoop.inEventLoop }
    promise.succeed(with: 1)
    #expect(try await isOnLoop.value)
  }

  @Test("An error that a closure throws on the event loop is the future's failure")
  func failure() async {
    let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let future = Promises.makeSucceeded(with: 1).mapToValue(on: .eventLoop(eventLoop)) {
      _ -> Int in throw TestError.first
    }
    await #expect(throws: TestError.first) { try await future.value }
  }

  @Test("A cancelled future does not run its closure on the event loop")
  func cancellation() throws {
    let eventLoop = EmbeddedEventLoop()
    let runs = Counter()
    let future = Promises.makeSucceeded(with: 1).mapToValue(on: .eventLoop(eventLoop)) { _ in
      runs.add()
    }
    future.cancel()
    eventLoop.run()
    #expect(future.isCancelled)
    #expect(runs.value == 0)
    try eventLoop.syncShutdownGracefully()
  }

  @Test("Nothing runs before the event loop does")
  func order() throws {
    let eventLoop = EmbeddedEventLoop()
    let future = Promises.makeSucceeded(with: 1).mapToValue(on: .eventLoop(eventLoop)) { $0 + 1 }
    #expect(!future.isFulfilled)
    eventLoop.run()
    #expect(try future.result?.get() == 2)
    try eventLoop.syncShutdownGracefully()
  }
}
