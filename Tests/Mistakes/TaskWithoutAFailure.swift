// Nothing says how a task may fail.
// error: generic parameter 'Failure' could not be inferred
import Properations

private func mistake() {
  let task = BlockProducerTask { task, finish in finish(.success(1)) }
  task.receive { print($0) }
}
