// The closure of `mapToFuture` returns a value.
// error: cannot convert value of type 'Int' to closure result type 'Future<Int>'
import Properations

private func mistake(_ number: Future<Int>) -> Future<Int> {
  number.mapToFuture { $0 + 1 }
}
