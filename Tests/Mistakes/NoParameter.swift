// The closure leaves its parameter out.
// error: expects 1 argument, which cannot be implicitly ignored
import Properations

private func mistake(_ number: Future<Int>) -> Future<Int> {
  number.mapToValue { 1 }
}
