// The closure of a task's `map` asks for a property that is not there.
// error: value of type 'String' has no member 'cuont'
import Properations

private enum LoadError: Error { case offline }

private func mistake(_ text: ProducerTask<String, LoadError>) -> ProducerTask<Int, LoadError> {
  text.map { $0.cuont }
}
