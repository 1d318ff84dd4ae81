// `get()`, as of a `Result` and of SwiftNIO's futures.
// error: Write 'try await future.value'
import Properations

private func mistake(_ number: Future<Int>) async throws -> Int {
  try await number.get()
}
