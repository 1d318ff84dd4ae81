// PromiseKit's `then`.
// error: 'then' has been renamed to 'mapToFuture'
import Properations

private func load(_ number: Int) -> Future<String> { Promises.makeSucceeded(with: "\(number)") }

private func mistake(_ number: Future<Int>) -> Future<String> {
  number.then { load($0) }
}
