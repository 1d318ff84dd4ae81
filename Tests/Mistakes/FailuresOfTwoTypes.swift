// `flatMap` goes on with a task that fails in another way.
// error: change one by 'mapError' first
import Properations

private enum LoadError: Error { case offline }
private enum ParseError: Error { case empty }

private func parse(_ text: String) -> ProducerTask<Int, ParseError> {
  BlockProducerTask { task, finish in finish(.success(text.count)) }
}

private func mistake(_ text: ProducerTask<String, LoadError>) -> ProducerTask<Int, LoadError> {
  text.flatMap { parse($0) }
}
