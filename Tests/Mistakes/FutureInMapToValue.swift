// The closure of `mapToValue` returns a future.
// warning: use 'mapToFuture', which waits for it
import Properations

private func load(_ number: Int) -> Future<String> { Promises.makeSucceeded(with: "\(number)") }

private func mistake(_ number: Future<Int>) {
  let text = number.mapToValue { load($0) }
  text.onSuccess { print($0) }
}
