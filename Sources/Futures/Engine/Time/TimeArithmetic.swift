/// Arithmetic on times with 64-bit numbers, whatever the size of an `Int` is.
///
/// On platforms with a 32-bit `Int`, such as Apple's watches, an `Int` holds only two
/// seconds in nanoseconds, and less than a century in seconds. This file imports nothing,
/// because `.ci/thirty-two-bits` compiles and runs it for such a platform.
package enum TimeArithmetic {
  /// A hundred years in seconds, the longest time that the library waits.
  package static var longestSeconds: Int64 { 100 * 365 * 24 * 3600 }

  private static var perSecond: Int64 { 1_000_000_000 }

  /// Returns a duration in nanoseconds, from zero to a hundred years.
  ///
  /// - Parameters:
  ///   - seconds: The whole seconds of the duration.
  ///   - attoseconds: The rest, with the same sign.
  package static func nanoseconds(seconds: Int64, attoseconds: Int64) -> UInt64 {
    if seconds >= longestSeconds { return UInt64(longestSeconds * perSecond) }
    return UInt64(max(seconds, 0) * perSecond + max(attoseconds, 0) / perSecond)
  }

  /// Returns the time that is some nanoseconds after another one.
  package static func time(_ nanoseconds: UInt64, after start: UInt64) -> UInt64 {
    let (sum, isTooLate) = start.addingReportingOverflow(nanoseconds)
    // The greatest number is Dispatch's "never".
    return isTooLate ? .max - 1 : min(sum, .max - 1)
  }
}
