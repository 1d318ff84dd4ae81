import Foundation
import TestSupport
import Testing

@testable import Futures

@Suite("A clock that never goes back", .timeLimit(.minutes(5)), .oneAtATime)
struct SteadyClockTests {
  private let user = UserClock()

  @Test func `a clock that is set back stands still, and goes on from there`() {
    let clock = SteadyClock(user)
    var times: [Duration] = []
    for seconds: Int64 in [5, 3, 4, -100, -99, 1_000, 999, 1_001] {
      user.time.value = .seconds(seconds)
      times.append(clock.now)
    }
    #expect(times == [5, 5, 6, 6, 7, 1_106, 1_106, 1_108].map { .seconds($0) })
  }

  @Test func `a reading that others have overtaken does not move the time ahead`() {
    let clock = SteadyClock(user)
    for round: Int64 in 1...100 {
      let late = Box<Duration>(.zero)
      // Between the late thread's reading of the clock and its return, another one reads.
      user.onNow.value = { [user] in
        user.onNow.value = {}
        user.time.value = .seconds(round * 2)
        late.value = clock.now
        user.time.value = .seconds(round * 2 - 1)
      }
      #expect(clock.now == .seconds(round * 2) && late.value == .seconds(round * 2))
      user.time.value = .seconds(round * 2)
      #expect(clock.now == .seconds(round * 2))
    }
  }

  @Test func `a reading from before the clock was set back does not move the time ahead`() {
    let clock = SteadyClock(user)
    user.time.value = .seconds(100)
    #expect(clock.now == .seconds(100))
    user.onNow.value = { [user] in
      user.onNow.value = {}
      user.time.value = .seconds(10)
      #expect(clock.now == .seconds(100))
      user.time.value = .seconds(101)
    }
    #expect(clock.now == .seconds(100))
    user.time.value = .seconds(11)
    #expect(clock.now == .seconds(101))
  }

  @Test func `eight threads that read: the time is that of the clock`() {
    let (real, clock) = (ContinuousClock.now, SteadyClock(ContinuousClock()))
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      var last = Duration.zero
      for _ in 0..<20_000 {
        let now = clock.now
        if now < last { Issue.record("the time went back") }
        last = now
      }
    }
    #expect(clock.now <= real.duration(to: .now))
  }
}
