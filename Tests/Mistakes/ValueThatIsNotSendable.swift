// The value of a future is not Sendable.
// error: does not conform to the 'Sendable' protocol
import Properations

private final class Cache {
  var names: [String] = []
}

private func mistake() -> Future<Cache> {
  Promises.run(on: .global()) { Cache() }
}
