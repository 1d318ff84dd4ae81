import Foundation
import TestSupport
import Testing

@testable import Futures

/// Guarantees that no suite about one part of the library shows by itself.
@Suite("Guarantees", .timeLimit(.minutes(5)), .oneAtATime)
struct GuaranteeTests {
  @Test(.guarantee(4))
  func `an error thrown by a closure fails its future and those below, no other`() {
    let promise = Promise<Int>()
    let above = promise.mapToValue(on: .inline) { $0 + 1 }
    let throwing = above.mapToValue(on: .inline) { _ -> Int in throw TestError.first }
    let below = throwing.mapToValue(on: .inline) { $0 + 1 }
    let beside = above.mapToValue(on: .inline) { $0 + 10 }
    let late: Future<Int> = above.mapToFuture(on: .inline) { _ in throw TestError.second }
    promise.succeed(with: 1)
    #expect(promise.result?.successValue == 1)
    #expect(above.result?.successValue == 2)
    #expect(beside.result?.successValue == 12)
    #expect(throwing.result?.failureValue as? TestError == .first)
    #expect(below.result?.failureValue as? TestError == .first)
    #expect(late.result?.failureValue as? TestError == .second)
  }

  #if DEBUG && !PROPERATIONS_THREAD_SANITIZER
    // (Only debug builds know which locks a thread holds.)

    /// Looks, when it is called and when it is released, whether the thread
    /// holds a lock of the library.
    private final class Lookout: Sendable {
      let seen: Log<Bool>
      init(_ seen: Log<Bool>) { self.seen = seen }
      func look() { seen.append(LockRank.isHeld) }
      deinit { look() }
    }

    @Test(
      .guarantee(2), arguments: CombinatorCase.onContext,
      [InputOutcome.success, .failure, .cancelled])
    func `no closure runs, and nothing it captured goes, while a lock is held`(
      _ combinator: CombinatorCase, _ outcome: InputOutcome
    ) async {
      let seen = Log<Bool>()
      do {
        let promise = Promise<Int>()
        let lookout = Lookout(seen)
        promise.onCancellationRequest { lookout.look() }
        let output = combinator.derive(promise) { lookout.look() }
        output.completionBlock = { lookout.look() }
        switch outcome {
        case .success: promise.succeed(with: 1)
        case .failure: promise.fail(with: TestError.first)
        case .cancelled: output.cancel()
        }
        promise.cancel()
        #expect(await eventually { output.isFinished })
        // (A completion block may run later than that.)
        output.completionBlock = nil
      }
      #expect(await eventually { seen.count > 0 })
      #expect(!seen.entries.contains(true))
    }

    @Test func `a thread that holds a lock is known to`() {
      let seen = Log<Bool>()
      let lookout = Lookout(seen)
      let lock = Futures.Lock(0)
      lock.withLock { _ in lookout.look() }
      lookout.look()
      #expect(seen.entries == [true, false])
    }
  #endif
}
