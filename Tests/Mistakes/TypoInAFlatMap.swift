// The closure of a task's `flatMap` calls a function with the wrong type.
// error: cannot convert value of type 'Int' to expected argument type 'String'
import Properations

private enum LoadError: Error { case offline }

private func parse(_ text: String) -> ProducerTask<Int, LoadError> {
  BlockProducerTask { task, finish in finish(.success(text.count)) }
}

private func mistake(_ number: ProducerTask<Int, LoadError>) -> ProducerTask<Int, LoadError> {
  number.flatMap { parse($0) }
}
