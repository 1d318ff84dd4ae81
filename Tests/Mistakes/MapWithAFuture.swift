// The closure of `map` returns a future.
// error: 'map' has been renamed to 'mapToFuture'
import Properations

private func load(_ number: Int) -> Future<String> { Promises.makeSucceeded(with: "\(number)") }

private func mistake(_ number: Future<Int>) -> Future<String> {
  number.map { load($0) }
}
