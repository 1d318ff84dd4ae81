import Futures
import Synchronization
import Testing

/// Runs the tests of a suite one after the other, together with the tests of all other
/// suites that have this trait.
///
/// Many tests block threads on purpose. On Linux, Swift tasks run on the same pool of
/// threads as Dispatch's queues, and that pool grows slowly: a few dozen tests that block
/// at the same time starve the others.
package struct OneAtATime: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // The scope is around the whole test, so the wait is outside its time limit. A test
    // whose suite has the trait too waits only once.
    guard testCase == nil, !test.isSuite, !Self.isInside else { return try await function() }
    await Turnstile.shared.enter()
    defer { Turnstile.shared.leave() }
    try await Self.$isInside.withValue(true) { try await function() }
  }

  @TaskLocal private static var isInside = false

  package func scopeProvider(for test: Test, testCase: Test.Case?) -> OneAtATime? {
    test.isSuite ? nil : self
  }
}

extension Trait where Self == OneAtATime {
  /// Runs one test at a time, of all tests that have this trait.
  package static var oneAtATime: OneAtATime { OneAtATime() }
}

/// Lets one caller in at a time, in the order of their calls.
private final class Turnstile: Sendable {
  static let shared = Turnstile()

  private let state = TestLock((isTaken: false, waiting: [CheckedContinuation<Void, Never>]()))

  func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.isTaken {
          state.waiting.append(continuation)
          return false
        }
        state.isTaken = true
        return true
      }
      if isFree { continuation.resume() }
    }
  }

  func leave() {
    let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.waiting.isEmpty else {
        state.isTaken = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.resume()
  }
}
