// A time has no unit.
// error: 'timeout(after: .seconds(5))'
import Properations

private func mistake(_ number: Future<Int>) -> Future<Int> {
  number.timeout(after: 5)
}
