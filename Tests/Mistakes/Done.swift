// PromiseKit's `done`.
// error: 'done' has been renamed to 'onSuccess'
import Properations

private func mistake(_ number: Future<Int>) {
  number.done { print($0) }
}
