import Foundation
import Futures
import TestSupport
import Testing

/// Futures whose time is up after a while.
private enum Timed: Int, CaseIterable, Sendable {
  case delay
  case after
  case delayOfAFuture
  case timeout
  case fallback
  case deadline

  /// Waits until the time is up.
  func wait(_ duration: Duration) throws {
    let pending = Promise<Int>()
    switch self {
    case .delay: try Promises.delay(for: duration).wait()
    case .after: try Promises.delay(for: duration).wait()
    case .delayOfAFuture: try Promises.makeSucceeded(with: 1).delay(for: duration).wait()
    case .timeout: _ = try? pending.timeout(after: duration).wait()
    case .fallback: try pending.timeout(after: duration, fallback: 1).wait()
    case .deadline: _ = try? pending.deadline(.now + duration).wait()
    }
  }

  /// Whether all of them are on time while jobs block a global queue.
  static func areOnTime(
    jobs: Int, qos classes: [DispatchQoS.QoSClass], duration: Duration, limit: Duration
  ) -> Bool {
    for qos in classes {
      for _ in 0..<jobs { DispatchQueue.global(qos: qos).async { while true { sleep(1) } } }
    }
    // All at the same time, each on a thread of its own.
    let late = Counter()
    let group = DispatchGroup()
    for timed in allCases {
      group.enter()
      Thread {
        let start = ContinuousClock.now
        try? timed.wait(duration)
        if ContinuousClock.now - start > limit { late.add() }
        group.leave()
      }.start()
    }
    group.wait()
    return late.value == 0
  }
}

/// A promise of which the library cannot tell whether a queue holds it.
private final class MirroredPromise: Promise<Int>, CustomReflectable, @unchecked Sendable {
  // Sendable: adds no state.
  var customMirror: Mirror {
    Mirror(self, children: ["value": 1], ancestorRepresentation: .suppressed)
  }
}

/// Each test blocks the pool of its own process.
///
/// Dispatch on Linux adds a thread for each second of such a block: what waits
/// for a free thread behind 16 jobs waits 15 seconds.
@Suite("Timers while the global pool is blocked", .timeLimit(.minutes(5)), .oneAtATime)
struct BlockedPoolTests {
  #if os(Linux) || os(macOS)
    @Test func `16 jobs block each global queue: 100 ms last less than 5 s`() async {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          Timed.areOnTime(
            jobs: 16, qos: [.background, .utility, .default, .userInitiated, .userInteractive],
            duration: .milliseconds(100), limit: .seconds(5))
        }
      }
    }

    @Test func `16 jobs block the queue of user-initiated work: 100 ms last less than 5 s`()
      async
    {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          Timed.areOnTime(
            jobs: 16, qos: [.userInitiated], duration: .milliseconds(100),
            limit: .seconds(5))
        }
      }
    }

    @Test func `16 jobs block the default global queue: 100 ms last less than 5 s`() async {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          Timed.areOnTime(
            jobs: 16, qos: [.default], duration: .milliseconds(100), limit: .seconds(5))
        }
      }
    }

    @Test func `nothing blocks the global queue: 100 ms last less than 5 s`() async {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          Timed.areOnTime(jobs: 0, qos: [], duration: .milliseconds(100), limit: .seconds(5))
        }
      }
    }

    @Test func `16 jobs block the default global queue: a future that was read finishes in 5 s`()
      async
    {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          for _ in 0..<16 { DispatchQueue.global().async { while true { sleep(1) } } }
          let promise = MirroredPromise()
          // The reader counts as a queue, so the promise finishes late.
          _ = promise.isReady
          let start = ContinuousClock.now
          promise.succeed(with: 1)
          guard !promise.isFinished else { return false }
          promise.waitUntilFinished()
          return ContinuousClock.now - start < .seconds(5)
        }
      }
    }
  #endif
}
