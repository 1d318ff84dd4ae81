// `flatMap`, on a queue.
// error: 'flatMap(on:_:)' has been renamed to 'mapToFuture'
import Properations

private func load(_ number: Int) -> Future<String> { Promises.makeSucceeded(with: "\(number)") }

private func mistake(_ number: Future<Int>) -> Future<String> {
  number.flatMap(on: .global()) { load($0) }
}
