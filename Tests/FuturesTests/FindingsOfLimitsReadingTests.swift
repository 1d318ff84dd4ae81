import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Futures

/// What readings of limits, repetition and progress found, as programs.
@Suite("What readings of limits and progress found", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfLimitsReadingTests {
  @Test func `a Progress gets a smaller total with another unit, and does not overflow`() {
    let promise = Promise<Int>()
    let progress = promise.makeProgress()
    promise.report(completed: 1, of: 100)
    promise.report(completed: 6_000_000_000 as Int64, of: 10_000_000_000 as Int64)
    promise.report(completed: 7, of: 10)
    #expect(progress.completedUnitCount == 7 && progress.totalUnitCount == 10)
    promise.cancel()
  }

  @Test func `a smaller total is not the end for the parent of a Progress`() async throws {
    let promise = Promise<Int>()
    let parent = Progress(totalUnitCount: 2)
    func makeChild() -> Progress {
      parent.becomeCurrent(withPendingUnitCount: 1)
      defer { parent.resignCurrent() }
      return promise.makeProgress()
    }
    let part = makeChild()
    promise.report(completed: 6, of: 10)
    promise.report(completed: 2, of: 5)
    #expect(parent.fractionCompleted < 0.5 && parent.completedUnitCount == 0)
    promise.succeed(with: 1)
    #expect(await eventually { parent.completedUnitCount == 1 })
    #expect(part.isFinished && !parent.isFinished)
  }

  @Test func `a view of a range that fits no Int is searched and traversed`() async throws {
    func search(_ elements: some Sequence<UInt64> & Sendable) async throws {
      let found = Promises.find(in: elements, on: .inline) { _ in Promises.makeSucceeded(with: true)
      }
      #expect(try await found.value != nil)
      let all = Promises.traverse(elements, on: .inline, maxConcurrent: 1) { _ in
        Promises.makeFailed(with: TestError.first, promising: Int.self)
      }
      #expect(await all.completion.failureValue is TestError)
    }
    try await search((0..<UInt64.max).reversed())
    try await search((0...UInt64.max).reversed())
  }

  @Test func `a closure in a permit may want a load whose own task has given the permit back`()
    async throws
  {
    let (loads, permits) = (SingleFlight<Int, Int>(), Permits(1))
    let (hasPermit, goOn, end, joined) = (Event(), Event(), Event(), Event())
    let first = loads.load(1, on: .global()) {
      Promises.async {
        let permit = try await permits.acquire().value
        hasPermit.signal()
        await goOn.opened()
        permit.release()
        await end.opened()
        return 7
      }
    }
    #expect(await hasPermit.opened())
    let second = permits.withPermit {
      let shared = loads.load(1, on: .inline) { Promises.makeSucceeded(with: 0) }
      joined.signal()
      return try await shared.value
    }
    goOn.signal()
    #expect(await joined.opened())
    end.signal()
    #expect(try await second.value == 7)
    #expect(try await first.value == 7)
  }
}
