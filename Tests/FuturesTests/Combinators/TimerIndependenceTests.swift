import Foundation
import Futures
import TestSupport
import Testing

@Suite("Timers beside blocked threads", .timeLimit(.minutes(5)), .oneAtATime)
struct TimerIndependenceTests {
  /// How long a delay of 20 ms and a timeout of 50 ms take together.
  private static func timeOfTwoTimers(besideBlocked jobs: Int) throws -> Duration {
    for quality in [DispatchQoS.QoSClass.default, .userInitiated] {
      for _ in 0..<jobs {
        DispatchQueue.global(qos: quality).async { Thread.sleep(forTimeInterval: 30) }
      }
    }
    return try SmallStackThread.run {
      try ContinuousClock().measure {
        let delayed = Promises.delay(for: .milliseconds(20))
        let promise = Promise<Int>()
        let limited = promise.timeout(after: .milliseconds(50), fallback: 1)
        _ = try delayed.wait(timeout: Event.patience)
        _ = try limited.wait(timeout: Event.patience)
      }
    }
  }

  #if os(Linux) || os(macOS)
    // (Dispatch on Linux adds a thread for each second of such a block.)
    @Test(arguments: [16, 64])
    func `a timer rings in time while jobs block the global queues`(_ jobs: Int) async {
      await #expect(processExitsWith: .success) { [jobs] in
        let elapsed = try Self.timeOfTwoTimers(besideBlocked: jobs)
        if elapsed > .seconds(10) { exit(EXIT_FAILURE) }
      }
    }
  #endif

  @Test func `an inline closure that blocks after a timer delays no other timer`() throws {
    let gate = Event()
    let blocked = Promises.delay(for: .milliseconds(1)).onSuccess(on: .inline) { gate.wait() }
    let others = (0..<20).map { _ in Promises.delay(for: .milliseconds(2)) }
    #expect(others.allSatisfy { (try? $0.wait(timeout: Event.patience)) != nil })
    gate.signal()
    _ = try blocked.wait(timeout: Event.patience)
  }
}
