// Async code blocks its thread.
// error: Await 'value' instead
import Properations

private func mistake(_ number: Future<Int>) async throws -> Int {
  try number.wait()
}
