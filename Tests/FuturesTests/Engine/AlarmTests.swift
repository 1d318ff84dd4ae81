import Foundation
import TestSupport
import Testing

@testable import Futures

/// The common timer of all alarms, without Dispatch.
@Suite("Alarms", .timeLimit(.minutes(5)), .oneAtATime)
struct AlarmTests {
  @Test func `alarms that are cancelled in time set the common timer once`() {
    var line = AlarmLine()
    var settings = 0
    for time in UInt64(1000)..<2000 {
      let alarm = Alarm(at: time) {}
      if line.add(alarm) != nil { settings += 1 }
      #expect(line.cancel(alarm) != nil)
    }
    #expect(settings == 1)
  }

  @Test func `alarms ring in the order of their times, and cancelled ones never`() {
    var numbers = SeededGenerator(seed: 7)
    for _ in 0..<100 {
      var line = AlarmLine()
      let rung = Log<UInt64>()
      var expected: [UInt64] = []
      var timer = UInt64.max
      for _ in 0..<Int.random(in: 1...200, using: &numbers) {
        let time = UInt64.random(in: 0..<1000, using: &numbers)
        let alarm = Alarm(at: time) { rung.append(time) }
        if let changed = line.add(alarm) {
          #expect(changed < timer)
          timer = changed
        }
        if Bool.random(using: &numbers) {
          #expect(line.cancel(alarm) != nil)
          #expect(line.cancel(alarm) == nil)
        } else {
          expected.append(time)
        }
      }
      while timer != .max {
        let (rings, next) = line.takeDue(at: timer)
        for ring in rings { ring() }
        #expect(rung.entries.allSatisfy { $0 <= timer })
        #expect(next ?? .max > timer)
        timer = next ?? .max
      }
      #expect(rung.entries == expected.sorted())
      #expect(line.count == 0)
    }
  }

  @Test func `after many are due at once the timer rings again until none is left`() {
    var line = AlarmLine()
    for _ in 0..<1000 { _ = line.add(Alarm(at: 5) {}) }
    var count = 0
    var calls = 0
    var next: UInt64? = 5
    while next != nil {
      let taken = line.takeDue(at: 5)
      (count, calls, next) = (count + taken.rings.count, calls + 1, taken.next)
    }
    #expect(count == 1000)
    #expect(calls < 10)
  }

  @Test func `cancelled alarms take no more places than alarms that are set`() {
    var line = AlarmLine()
    for _ in 0..<100 { _ = line.add(Alarm(at: 1) {}) }
    for _ in 0..<10_000 { _ = line.cancel(add(to: &line, at: 1_000_000)) }
    #expect(line.count <= 300)
  }

  private func add(to line: inout AlarmLine, at time: UInt64) -> Alarm {
    let alarm = Alarm(at: time) {}
    _ = line.add(alarm)
    return alarm
  }

  @Test func `an alarm that is set later may ring earlier`() async {
    let late = Promises.delay(for: .seconds(3600))
    let early = Promises.delay(for: .milliseconds(1))
    _ = await early.completion
    #expect(late.result == nil)
    late.cancel()
  }
}
