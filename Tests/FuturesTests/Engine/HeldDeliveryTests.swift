import Foundation
import TestSupport
import Testing

@testable import Futures

/// A kind of future that holds back telling its waiters.
@Suite("A delivery that is held back", .timeLimit(.minutes(5)), .oneAtATime)
struct HeldDeliveryTests {
  /// Does what is asked of it in the plainest way.
  private final class Behaviour: FutureBehaviour {
    private let isOpen = TestLock(false)
    func open() { isOpen.withLock { $0 = true } }

    func mayDeliver(_ future: AnyFuture, in loop: WorkLoop) -> Bool { isOpen.withLock { $0 } }
    func sourceHasSettled(
      _ future: AnyFuture, _ source: AnyFuture, as role: SettlementWaiter.Role
    ) {}
    func run(_ future: AnyFuture, after source: AnyFuture) {}
    func join(_ future: AnyFuture, _ queue: OperationQueue, implicitly: Bool) -> Bool { false }
    func isStillWanted(_ future: AnyFuture, without leaver: AnyFuture?) -> Bool { false }
    func awaited(by future: AnyFuture) -> [AnyFuture]? { [] }
    func awaiting(_ future: AnyFuture, limit: Int) -> [AnyFuture] { [] }
    func need(of future: AnyFuture) -> FutureNeed { .allAwaited }
  }

  @Test func `who waits is told when the delivery goes on, in order, late comers included`() {
    let behaviour = Behaviour()
    let future = Future<Int>(behaviour: behaviour, at: Birthplace(#fileID, #line))
    let log = Log<Int>()
    let first = future.mapToValue(on: .inline) { log.append($0) }
    future.settle(success: 1)
    let late = future.mapToValue(on: .inline) { log.append($0 + 1) }
    #expect(future.isFulfilled)
    #expect(!future.isSettledAndTold)
    #expect(log.entries.isEmpty)
    behaviour.open()
    WorkLoop.current.resumeDelivery(of: future)
    #expect(log.entries == [1, 2])
    #expect(first.isFulfilled)
    #expect(late.isFulfilled)
    #expect(future.isSettledAndTold)
  }
}
