// The closure has one parameter too many.
// error: expects 1 argument, but 2 were used in closure body
import Properations

private func mistake(_ number: Future<Int>) -> Future<Int> {
  number.mapToValue { value, error in value + 1 }
}
