// A task fails with its error as it is.
// error: cannot convert value of type 'LoadError' to expected argument type 'ProducerTaskProtocolError<LoadError>'
import Properations

private enum LoadError: Error { case offline }

private func mistake() -> BlockProducerTask<Int, LoadError> {
  BlockProducerTask<Int, LoadError> { task, finish in finish(.failure(LoadError.offline)) }
}
