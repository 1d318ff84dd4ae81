// The closure of a task's `catch` returns a value.
// error: use 'replaceError(with:)'
import Properations

private enum LoadError: Error { case offline }

private func mistake(_ text: ProducerTask<String, LoadError>) {
  text.catch { _ in "none" }.receive { print($0) }
}
