import Foundation
import Futures
import TestSupport
import Testing

/// Depth is limited by memory, not by the stack.
///
/// Each chain is 50,000 links on a 512 KiB stack, in a process of its own, for
/// an overflow ends the process.
@Suite("Depth", .timeLimit(.minutes(5)), .oneAtATime)
struct DepthTests {
  /// Drops the promise at the top of a chain of 50,000 links.
  private static func drop(
    _ step: @escaping @Sendable (Future<Int>) -> Future<Int>
  ) async throws {
    let isSettled = try await SmallStackThread.running { () -> Bool in
      var promise: Promise<Int>? = Promise<Int>()
      var future: Future<Int> = promise ?? Promise<Int>()
      for _ in 0..<50_000 { future = step(future) }
      promise = nil
      return future.isFulfilled
    }
    #expect(isSettled)
  }

  #if os(Linux) || os(macOS)
    @Test func `a dropped promise above 50,000 collections breaks them`() async {
      await #expect(processExitsWith: .success) {
        // (Failing fast: else the error itself would be nested as deep.)
        try await Self.drop {
          Promises.collect([$0], failingFast: true).mapToValue(on: .inline) { $0[0] }
        }
      }
    }

    @Test func `a dropped promise above 50,000 races breaks them`() async {
      await #expect(processExitsWith: .success) {
        try await Self.drop { Promises.firstCompleted([$0]) }
      }
    }

    @Test func `a dropped promise above 50,000 closures that always run breaks them`() async {
      await #expect(processExitsWith: .success) {
        try await Self.drop { $0.always(on: .inline) {} }
      }
    }

    @Test func `a dropped promise above 50,000 flattened futures breaks them`() async {
      await #expect(processExitsWith: .success) {
        try await Self.drop { inner in
          Promises.makeSucceeded(with: 1).mapToFuture(on: .inline) { _ in inner }
        }
      }
    }

    @Test func `scopes nested 100,000 deep are cancelled`() async {
      await #expect(processExitsWith: .success) {
        try await SmallStackThread.running {
          let outer = CancellationScope()
          var scopes = [outer]
          for _ in 0..<100_000 { scopes.append(scopes[scopes.count - 1].makeChild()) }
          outer.cancel()
          // From the inside out, so that no release recurses.
          while scopes.popLast() != nil {}
        }
      }
    }

    @Test func `scopes nested 100,000 deep are released`() async {
      await #expect(processExitsWith: .success) {
        try await SmallStackThread.running {
          var inner = CancellationScope()
          for _ in 0..<100_000 { inner = inner.makeChild() }
        }
      }
    }
  #endif
}
