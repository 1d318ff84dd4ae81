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

/// How often something is to be done: as often as said, or a part of that if
/// `PROPERATIONS_STRESS_DIVISOR` asks for less, as `.ci/sanitize` does.
func times(_ count: Int) -> Int {
  let divisor = ProcessInfo.processInfo.environment["PROPERATIONS_STRESS_DIVISOR"]
    .flatMap { Int($0) }
  return max(1, count / max(1, divisor ?? 1))
}

/// How long a body took, in seconds.
func seconds(_ body: () -> Void) -> Double {
  let start = ContinuousClock.now
  body()
  let (seconds, attoseconds) = (ContinuousClock.now - start).components
  return Double(seconds) + Double(attoseconds) / 1e18
}
