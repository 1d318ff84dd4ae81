import Foundation

/// Runs a closure once, after some time.
///
/// Cancelling the timer releases the closure.
final class Timer: CallbackWaiter, @unchecked Sendable {
  // Sendable: a dispatch source may be used from any thread.
  private let source: any DispatchSourceTimer
  #if PROPERATIONS_EXPLORER
    /// Cancels a timer that the explorer runs in place of `source`.
    private var exploredCancel: (@Sendable () -> Void)?
  #endif

  /// Starts the timer.
  ///
  /// - Parameters:
  ///   - duration: The time to wait. A negative duration ends at once, one of more than a
  ///     century lasts a century.
  ///   - ring: Runs on a queue that only this timer uses. The timer keeps the closure
  ///     until it has run or the timer is cancelled.
  init(after duration: Duration, _ ring: @escaping @Sendable () -> Void) {
    // A timer on a global queue rings late when that queue's threads block. A private
    // serial queue gets a thread of its own even then. And a ring that blocks delays no
    // other timer.
    source = DispatchSource.makeTimerSource(
      queue: DispatchQueue(label: "Properations.Timer", qos: .userInitiated))
    super.init()
    #if PROPERATIONS_EXPLORER
      if let cancel = SchedulingPoints.hooks.load()?.startTimer(duration, ring) {
        exploredCancel = cancel
        source.activate()
        return
      }
    #endif
    source.setEventHandler { [source] in
      source.cancel()
      ring()
    }
    source.schedule(deadline: duration.fromNow, leeway: .nanoseconds(0))
    source.activate()
  }

  #if PROPERATIONS_EXPLORER
    func cancel() {
      source.cancel()
      exploredCancel?()
    }
  #else
    func cancel() { source.cancel() }
  #endif

  override func withdraw(cancelling: Bool) { cancel() }
}

extension Duration {
  /// The longest time that the library waits: a hundred years.
  static let longest = Duration.seconds(TimeArithmetic.longestSeconds)

  /// The duration as the difference of two times on a user's clock.
  ///
  /// It is never more than a thousand years in either direction, so that sums do not
  /// overflow, whatever the clock says.
  var bounded: Duration { min(max(self, .zero - Self.longest * 10), Self.longest * 10) }

  /// The duration in nanoseconds, from zero to a hundred years.
  var clampedNanoseconds: UInt64 {
    // The components of a duration of more than 64-bit seconds would trap.
    let (seconds, attoseconds) = clamped.components
    return TimeArithmetic.nanoseconds(seconds: seconds, attoseconds: attoseconds)
  }

  /// The moment at which a duration that begins now ends.
  package var fromNow: DispatchTime {
    DispatchTime(
      uptimeNanoseconds: TimeArithmetic.time(
        clampedNanoseconds, after: DispatchTime.now().uptimeNanoseconds))
  }

  /// Converts an interval of Dispatch.
  ///
  /// `never` becomes a century.
  package init(_ interval: DispatchTimeInterval) {
    switch interval {
    case .seconds(let n): self = .seconds(n)
    case .milliseconds(let n): self = .milliseconds(n)
    case .microseconds(let n): self = .microseconds(n)
    case .nanoseconds(let n): self = .nanoseconds(n)
    case .never: self = Self.longest
    @unknown default: self = Self.longest
    }
  }
}
