// The number of attempts has no label.
// error: 'retry(attempts: 3)'
import Properations

private func load() -> Future<Int> { Promises.makeSucceeded(with: 1) }

private func mistake() -> Future<Int> {
  Promises.retry(3) { _ in load() }
}
