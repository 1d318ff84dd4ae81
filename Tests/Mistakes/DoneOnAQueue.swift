// PromiseKit's `done`, on a queue.
// error: 'done(on:_:)' has been renamed to 'onSuccess'
import Properations

private func mistake(_ number: Future<Int>) {
  number.done(on: .global()) { print($0) }
}
