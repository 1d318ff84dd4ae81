// The closure of a task's `map` throws.
// error: use 'tryMap'
import Properations

private enum LoadError: Error { case offline }

private func parse(_ text: String) throws -> Int { text.count }

private func mistake(_ text: ProducerTask<String, LoadError>) -> ProducerTask<Int, LoadError> {
  text.map { try parse($0) }
}
