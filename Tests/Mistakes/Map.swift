// `map`, as elsewhere.
// error: 'map' has been renamed to 'mapToValue'
import Properations

private func mistake(_ number: Future<Int>) -> Future<Int> {
  number.map { $0 + 1 }
}
