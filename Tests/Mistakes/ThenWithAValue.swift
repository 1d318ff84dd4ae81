// `then` with a closure that returns a value, as in other languages.
// error: 'then' has been renamed to 'mapToValue'
import Properations

private func mistake(_ number: Future<Int>) -> Future<Int> {
  number.then { $0 + 1 }
}
