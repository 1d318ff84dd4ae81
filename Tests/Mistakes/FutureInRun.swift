// The closure of `run` returns a future.
// error: add '.flatten()', which waits for it
import Properations

private func load(_ number: Int) -> Future<String> { Promises.makeSucceeded(with: "\(number)") }

private func mistake() -> Future<String> {
  Promises.run(on: .global()) { load(1) }
}
