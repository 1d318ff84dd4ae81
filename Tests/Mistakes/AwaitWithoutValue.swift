// A future is awaited without its `value`.
// error: cannot convert return expression of type 'Future<Int>' to return type 'Int'
import Properations

private func mistake(_ number: Future<Int>) async throws -> Int {
  try await number
}
