// `compactMap`, on a queue.
// error: 'compactMap(on:_:)' has been renamed to 'compactMapToValue'
import Properations

private func mistake(_ text: Future<String>) -> Future<Int> {
  text.compactMap(on: .global()) { Int($0) }
}
