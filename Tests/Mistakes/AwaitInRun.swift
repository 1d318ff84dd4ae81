// The closure of `Promises.run` awaits.
// error: use 'Promises.async { ... }'
import Properations

private func load() async throws -> String { "" }

private func mistake() -> Future<String> {
  Promises.run(on: .global()) { try await load() }
}
