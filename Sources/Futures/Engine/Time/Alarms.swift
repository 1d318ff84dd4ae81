import Foundation

/// Rings alarms at times of Dispatch's clock, with one dispatch timer for all of them.
///
/// Most alarms are cancelled: they belong to timeouts of work that ends in time. A
/// dispatch timer of its own would wake a thread of Dispatch when such an alarm is set,
/// and again when it is cancelled. The common timer is only set anew for an alarm that is
/// earlier than all others.
final class Alarms: @unchecked Sendable {
  // Sendable: a dispatch source may be used from any thread; the rest has a lock.
  static let shared = Alarms()

  private let line = Lock(AlarmLine())
  private let timer: any DispatchSourceTimer

  private init() {
    // A timer on a global queue rings late when that queue's threads block. A private
    // serial queue gets a thread of its own even then.
    timer = DispatchSource.makeTimerSource(
      queue: DispatchQueue(label: "Properations.Alarms", qos: .userInitiated))
    timer.setEventHandler { [unowned self] in ring() }
    timer.activate()
  }

  /// Sets an alarm.
  ///
  /// - Parameter ring: Runs on a queue that only this alarm uses. A closure that blocks
  ///   delays no other alarm.
  func set(at time: DispatchTime, _ ring: @escaping @Sendable () -> Void) -> Alarm {
    let alarm = Alarm(at: time.uptimeNanoseconds, ring)
    line.withLock { line in schedule(line.add(alarm)) }
    return alarm
  }

  /// Cancels an alarm, and releases its closure.
  func cancel(_ alarm: Alarm) {
    // It may hold the value that comes when the time is up.
    if let ring = line.withLock({ $0.cancel(alarm) }) { WorkLoop.current.discard(ring) }
  }

  private func ring() {
    let rings = line.withLock { line in
      let (rings, next) = line.takeDue(at: DispatchTime.now().uptimeNanoseconds)
      schedule(next)
      return rings
    }
    for ring in rings {
      DispatchQueue(label: "Properations.Timer", qos: .userInitiated).async(execute: ring)
    }
  }

  /// With the lock held, so that the timer is set in the order of the changes.
  private func schedule(_ time: UInt64?) {
    guard let time else { return }
    timer.schedule(
      deadline: DispatchTime(uptimeNanoseconds: time), leeway: .nanoseconds(0))
  }
}

/// A closure that runs at a time, unless it is cancelled before.
final class Alarm: @unchecked Sendable {
  // Sendable: the lock of the line guards the closure; the time never changes.
  fileprivate let time: UInt64
  /// `nil` after the alarm was cancelled or has rung.
  fileprivate var ring: (@Sendable () -> Void)?

  init(at time: UInt64, _ ring: @escaping @Sendable () -> Void) {
    self.time = time
    self.ring = ring
  }
}

/// The alarms that are set, and the time at which the timer rings.
///
///   set ── its time comes, or it is cancelled ──▶ over
///
/// A cancelled alarm stays in the line without its closure until its time comes or half of
/// the line is cancelled. So a line of n alarms is put in order again, in O(n), once for n/2
/// cancellations, and the timer keeps its time.
struct AlarmLine {
  /// A heap with the earliest alarm in front.
  private var heap: [Alarm] = []
  private var cancelledCount = 0
  /// The time at which the timer rings; `nil` if it does not.
  private var timerTime: UInt64?

  /// The number of places in the line.
  var count: Int { heap.count }

  /// Adds an alarm; returns the new time of the timer if it has to change.
  mutating func add(_ alarm: Alarm) -> UInt64? {
    Heap.insert(alarm, into: &heap) { $0.time < $1.time }
    if let timerTime, timerTime <= alarm.time { return nil }
    timerTime = alarm.time
    return alarm.time
  }

  /// Cancels an alarm; returns its closure, to be released after the lock.
  mutating func cancel(_ alarm: Alarm) -> (@Sendable () -> Void)? {
    guard let ring = alarm.ring.take() else { return nil }
    cancelledCount += 1
    if cancelledCount > 32, cancelledCount * 2 > heap.count {
      heap.removeAll { $0.ring == nil }
      cancelledCount = 0
      for place in (0..<heap.count / 2).reversed() {
        Heap.moveBack(from: place, in: &heap) { $0.time < $1.time }
      }
    }
    return ring
  }

  /// Removes alarms whose time has come; returns their closures in the order of their
  /// times, and the next time of the timer, if there is one.
  ///
  /// It removes a limited number at a time, because other threads wait for the lock. The
  /// timer then rings again at once.
  mutating func takeDue(at now: UInt64) -> (rings: [@Sendable () -> Void], next: UInt64?) {
    var rings: [@Sendable () -> Void] = []
    for _ in 0..<256 {
      guard let first = heap.first, first.time <= now || first.ring == nil else { break }
      Heap.removeFirst(&heap) { $0.time < $1.time }
      if let ring = first.ring.take() { rings.append(ring) } else { cancelledCount -= 1 }
    }
    timerTime = heap.first?.time
    return (rings, timerTime)
  }
}
