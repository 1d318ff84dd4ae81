// The closure of `mapToValue` awaits.
// error: use 'mapToFuture', and return 'Promises.async { ... }'
import Properations

private func load(_ number: Int) async throws -> String { "\(number)" }

private func mistake(_ number: Future<Int>) -> Future<String> {
  number.mapToValue { try await load($0) }
}
