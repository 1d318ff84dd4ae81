// PromiseKit's `finally`, on a queue.
// error: 'finally(on:_:)' has been renamed to 'always'
import Properations

private func mistake(_ number: Future<Int>) {
  number.finally(on: .global()) { print("done") }
}
