extension ManualClock {
  /// A point in the time of a manual clock.
  public struct Instant: InstantProtocol, Sendable {
    /// The time since the clock was made.
    public let offset: Duration

    // Half of what seconds can count, so that the distance of two instants can be counted.
    private static let limit = Duration.seconds(Int64.max / 2)

    private static func clamped(_ duration: Duration) -> Duration {
      min(max(duration, .zero - limit), limit)
    }

    init(offset: Duration) { self.offset = Self.clamped(offset) }

    /// Returns the instant some time later.
    ///
    /// - Parameter duration: The time to add, which may be negative. A time beyond the range
    ///   of the clock, more than a hundred thousand million years, becomes its end.
    public func advanced(by duration: Duration) -> Instant {
      Instant(offset: offset + Self.clamped(duration))
    }

    /// Returns the time from this instant to another one.
    ///
    /// - Parameter other: The other instant; the time is negative if it is earlier.
    public func duration(to other: Instant) -> Duration { other.offset - offset }

    /// Compares two instants.
    ///
    /// - Returns: Whether the first one is earlier.
    public static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
  }

  /// What a task asked for when it began to sleep.
  public struct Sleep: Sendable, Hashable {
    /// The time between the beginning of the sleep and its end; positive.
    public let duration: Duration

    /// The time at which the sleep ends.
    public let deadline: Instant
  }
}
