// The closure of `mapToValue` returns a future, and a handler wants its value.
// error: use 'mapToFuture', which waits for it
import Properations

private func load(_ number: Int) -> Future<String> { Promises.makeSucceeded(with: "\(number)") }

@MainActor private func show(_ text: String) {}

private func mistake(_ number: Future<Int>) {
  number.mapToValue { load($0) }.onSuccess { show($0) }
}
