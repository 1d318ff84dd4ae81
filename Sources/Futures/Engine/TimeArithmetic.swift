/// Arithmetic of times in numbers of 64 bits, whatever the size of an `Int` is.
///
/// Where that has 32 bits, as on Apple's watches, it holds two seconds in nanoseconds, and
/// no century in seconds. (`.ci/thirty-two-bits` compiles and runs this file there, so it
/// imports nothing.)
package enum TimeArithmetic {
  /// A hundred years, the longest time that the library waits.
  package static var longestSeconds: Int64 { 100 * 365 * 24 * 3600 }

  private static var perSecond: Int64 { 1_000_000_000 }

  /// A duration in nanoseconds; at least zero and at most a hundred years.
  ///
  /// - Parameters:
  ///   - seconds: Its whole seconds.
  ///   - attoseconds: The rest, with the same sign.
  package static func nanoseconds(seconds: Int64, attoseconds: Int64) -> UInt64 {
    if seconds >= longestSeconds { return UInt64(longestSeconds * perSecond) }
    return UInt64(max(seconds, 0) * perSecond + max(attoseconds, 0) / perSecond)
  }

  /// The time that comes some nanoseconds after another one.
  package static func time(_ nanoseconds: UInt64, after start: UInt64) -> UInt64 {
    let (sum, isTooLate) = start.addingReportingOverflow(nanoseconds)
    // (The greatest number is Dispatch's "never".)
    return isTooLate ? .max - 1 : min(sum, .max - 1)
  }
}
