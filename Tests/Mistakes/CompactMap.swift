// `compactMap`, as elsewhere.
// error: 'compactMap' has been renamed to 'compactMapToValue'
import Properations

private func mistake(_ text: Future<String>) -> Future<Int> {
  text.compactMap { Int($0) }
}
