// A time of a delay has no unit.
// error: 'delay(for: .seconds(5))'
import Properations

private func mistake(_ number: Future<Int>) -> Future<Int> {
  number.delay(for: 1.5)
}
