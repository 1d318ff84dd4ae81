// `flatMap`, as elsewhere.
// error: 'flatMap' has been renamed to 'mapToFuture'
import Properations

private func load(_ number: Int) -> Future<String> { Promises.makeSucceeded(with: "\(number)") }

private func mistake(_ number: Future<Int>) -> Future<String> {
  number.flatMap { load($0) }
}
