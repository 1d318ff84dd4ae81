import Foundation
import TestSupport

/// Whether the large tests run: in release builds, or when asked for by
/// `PROPERATIONS_STRESS=1`; in debug builds they would take minutes.
let isStressing: Bool = {
  #if DEBUG
    return ProcessInfo.processInfo.environment["PROPERATIONS_STRESS"] == "1"
  #else
    return true
  #endif
}()

/// What everything is divided by: `PROPERATIONS_STRESS_DIVISOR`, which
/// `.ci/sanitize` sets.
private let divisor: Int = {
  let given = ProcessInfo.processInfo.environment["PROPERATIONS_STRESS_DIVISOR"]
  return max(1, given.flatMap { Int($0) } ?? 1)
}()

/// How often something is to be done, or how large something is to be: as said,
/// or a part of that if less was asked for.
func times(_ count: Int) -> Int { max(1, count / divisor) }

/// Whether times can be compared: not where everything is small, and slowed
/// down by what watches it.
let isFullSize = divisor == 1

/// How long a body took, in seconds.
func seconds(_ body: () -> Void) -> Double {
  let start = ContinuousClock.now
  body()
  let (seconds, attoseconds) = (ContinuousClock.now - start).components
  return Double(seconds) + Double(attoseconds) / 1e18
}

/// Does something on another thread.
func later(_ body: @escaping @Sendable () -> Void) { DispatchQueue.global().async(execute: body) }
