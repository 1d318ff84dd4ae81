// The time of a timer has no unit.
// error: 'delay(for: .seconds(5))'
import Foundation
import Properations

private func mistake(_ interval: TimeInterval) -> Future<Void> {
  Promises.delay(for: interval)
}
