// A closure that runs on a queue uses an object that is not Sendable.
// error: capture of 'cache' with non-Sendable type 'Cache'
import Properations

private final class Cache {
  var names: [String] = []
}

private func mistake(_ name: Future<String>, _ cache: Cache) {
  name.onSuccess(on: .global()) { cache.names.append($0) }
}
