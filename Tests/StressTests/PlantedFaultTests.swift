import Foundation
import Futures
import TestSupport
import Testing

/// Which fault the process is to commit on purpose, if any.
private let plant = ProcessInfo.processInfo.environment["PROPERATIONS_PLANT"]

/// Faults that the sanitizers and the watchdog must find.
///
/// Their silence about everything else means something only because they speak
/// here: `.ci/sanitize` and `.ci/stress` run each of these in the very build
/// that they trust, and fail unless it is reported.
@Suite("Planted faults", .timeLimit(.minutes(5)), .oneAtATime)
struct PlantedFaultTests {
  /// A number that nothing guards.
  private final class Unguarded: @unchecked Sendable {
    // Not Sendable at all: that is the fault.
    var number = 0
  }

  @Test(.enabled(if: plant == "race"))
  func `a race: closures of two futures write one variable, which nothing guards`() async {
    let shared = Unguarded()
    let ended = await RaceHarness(threads: 2, rounds: 100).run { _ in
      Promise<Int>()
    } act: { promise, thread in
      promise.onSuccess(on: .inline) { shared.number += $0 }
      if thread == 0 { promise.succeed(with: 1) } else { shared.number += 1 }
    }
    #expect(ended)
  }

  /// Two objects that keep each other.
  private final class Cyclic: @unchecked Sendable {
    // Only one thread ever sees it.
    var other: Cyclic?
    let payload = [UInt8](repeating: 7, count: 4_096)
  }

  @Test(.enabled(if: plant == "leak"))
  func `a leak: the closure of a settled future has left two objects that keep each other`() {
    let promise = Promise<Int>()
    let end = promise.mapToValue(on: .inline) { number in
      let (a, b) = (Cyclic(), Cyclic())
      (a.other, b.other) = (b, a)
      return number + a.payload.count
    }
    promise.succeed(with: 1)
    #expect(end.result?.successValue == 4_097)
  }

  @Test(.enabled(if: plant == "hang"))
  func `a hang: a future is awaited that nobody settles`() async {
    let promise = Promise<Int>()
    await #expect(throws: Never.self) { _ = try await promise.value }
  }
}
