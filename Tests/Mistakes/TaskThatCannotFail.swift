// A task that cannot fail takes the place of one that can.
// error: cannot convert return expression of type 'ProducerTask<String, Never>'
import Properations

private enum LoadError: Error { case offline }

private func mistake(_ text: NonFailProducerTask<String>) -> ProducerTask<String, LoadError> {
  text.map { $0 + "." }
}
