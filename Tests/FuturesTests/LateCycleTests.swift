import Foundation
import Futures
import TestSupport
import Testing

/// How long a wait may take that the library has to end.
private let patience = Event.patience

/// A cycle that is closed when closures, one on top of the other, block already.
@Suite("A cycle through closures that block", .timeLimit(.minutes(5)), .oneAtATime)
struct LateCycleTests {
  private final class StartingAtOnce: ExecutionContext {
    func execute(_ operation: Operation) { operation.start() }
  }

  /// Two closures run on one thread, the inner one on top of the outer one, and
  /// wait there for a promise.
  private func nested() async -> (outer: Future<Int>, inner: Future<Int>, awaited: Promise<Int>) {
    let (start, next, awaited) = (Promise<Int>(), Promise<Int>(), Promise<Int>())
    let inner = next.mapToValue(on: StartingAtOnce()) { _ in try awaited.wait(timeout: patience) }
    let outer = start.mapToValue(on: .inline) { value in
      next.succeed(with: value)
      return value
    }
    Thread { start.succeed(with: 1) }.start()
    #expect(await hasWaiter(awaited))
    return (outer, inner, awaited)
  }

  private func isCycle(_ future: Future<Int>) -> Bool {
    future.result?.failureValue as? ProperationsError == .cycle(createdAt: future.createdAt)
  }

  @Test func `a promise comes to wait for the inner closure that waits for it: fails with cycle`()
    async
  {
    let (outer, inner, awaited) = await nested()
    awaited.fulfill(from: inner)
    #expect(isCycle(awaited))
    _ = await outer.completion
  }

  @Test
  func `a promise comes to wait for the outer closure below the one that waits: fails with cycle`()
    async
  {
    let (outer, inner, awaited) = await nested()
    awaited.fulfill(from: outer)
    #expect(isCycle(awaited))
    _ = await (outer.completion, inner.completion)
  }
}
