// The closure of `mapToValue` returns a future.
// error: use 'mapToFuture', which waits for it
import Properations

private func load(_ number: Int) -> Future<String> { Promises.makeSucceeded(with: "\(number)") }

private func mistake(_ number: Future<Int>) -> Future<String> {
  number.mapToValue { load($0) }
}
