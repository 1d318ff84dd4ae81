import Synchronization
import TestSupport
import Testing

@testable import Futures

@Suite("Waits for what is no future", .timeLimit(.minutes(5)), .oneAtATime)
struct OutsideWaitTests {
  private final class Token: Sendable {}

  @Test("a dropped promise that waits for something outside lets the closures of the wait go")
  func dropped() {
    weak var left: Token?
    weak var told: Token?
    do {
      let (leaving, explaining) = (Token(), Token())
      (left, told) = (leaving, explaining)
      let promise = Promise<Int>()
      promise.waitOutside {
        _ = leaving
      } explain: {
        _ = explaining
        return nil
      }
      #expect(left != nil && told != nil)
    }
    #expect(left == nil)
    #expect(told == nil)
  }

  @Test("a promise that is fulfilled leaves the wait once and lets its closures go")
  func fulfilled() {
    weak var told: Token?
    let leaves = Mutex(0)
    let promise = Promise<Int>()
    do {
      let explaining = Token()
      told = explaining
      promise.waitOutside {
        leaves.withLock { $0 += 1 }
      } explain: {
        _ = explaining
        return nil
      }
    }
    promise.succeed(with: 1)
    promise.succeed(with: 2)
    #expect(leaves.withLock { $0 } == 1)
    #expect(told == nil)
  }
}
