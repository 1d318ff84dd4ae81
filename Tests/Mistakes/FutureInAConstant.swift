// The closure of `mapToValue` returns a future, and the new future is a constant without a type.
// The call compiles; its first use as a future of a text does not. A warning at the call itself
// would cost correct programs too much, see `Future+OtherForms.swift`.
// error: cannot convert return expression of type 'Future<Future<String>>'
import Properations

private func load(_ number: Int) -> Future<String> { Promises.makeSucceeded(with: "\(number)") }

private func mistake(_ number: Future<Int>) -> Future<String> {
  let text = number.mapToValue { load($0) }
  return text
}
