// `map`, on a queue.
// error: 'map(on:_:)' has been renamed to 'mapToValue'
import Properations

private func mistake(_ number: Future<Int>) -> Future<Int> {
  number.map(on: .global()) { $0 + 1 }
}
