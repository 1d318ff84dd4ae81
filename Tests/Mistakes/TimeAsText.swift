// A time is a text.
// error: cannot convert value of type 'String' to expected argument type 'Duration'
import Properations

private func mistake(_ number: Future<Int>) -> Future<Int> {
  number.timeout(after: "5 s")
}
