// The result is taken for the value.
// error: cannot convert return expression of type 'Result<Int, any Error>?' to return type 'Int'
import Properations

private func mistake(_ number: Future<Int>) -> Int {
  number.result
}
