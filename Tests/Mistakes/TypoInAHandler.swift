// A handler calls a function with the wrong type.
// error: cannot convert value of type 'Int' to expected argument type 'String'
import Properations

@MainActor private func show(_ text: String) {}

private func mistake(_ number: Future<Int>) {
  number.onSuccess { show($0) }
}
