import Foundation
import Properations

// Chains that are longer than those that people write, for `.ci/effort`. The compiler's
// effort may grow with the length of a chain, but not exponentially.

private enum LoadError: Error { case offline }

private func valuesOnMain(_ numbers: Future<[Int]>) -> Future<[Int]> {
  numbers
    .mapToValue { $0.map { $0 + 1 } }
    .mapToValue { $0.map { $0 + 1 } }
    .mapToValue { $0.map { $0 + 1 } }
    .mapToValue { $0.map { $0 + 1 } }
    .mapToValue { $0.map { $0 + 1 } }
    .mapToValue { $0.map { $0 + 1 } }
    .mapToValue { $0.map { $0 + 1 } }
    .mapToValue { $0.map { $0 + 1 } }
    .mapToValue { $0.map { $0 + 1 } }
    .mapToValue { $0.map { $0 + 1 } }
    .mapToValue { $0.map { $0 + 1 } }
    .mapToValue { $0.map { $0 + 1 } }
}

private func values(_ numbers: Future<[Int]>, on queue: OperationQueue) -> Future<[Int]> {
  numbers
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
    .mapToValue(on: queue) { $0.map { $0 + 1 } }
}

private func next(_ number: Int) -> Future<Int> { Promises.makeSucceeded(with: number + 1) }

private func futures(_ number: Future<Int>) -> Future<Int> {
  number
    .mapToFuture { next($0) }
    .mapToFuture { next($0) }
    .mapToFuture { next($0) }
    .mapToFuture { next($0) }
    .mapToFuture { next($0) }
    .mapToFuture { next($0) }
    .mapToFuture { next($0) }
    .mapToFuture { next($0) }
    .mapToFuture { next($0) }
    .mapToFuture { next($0) }
    .mapToFuture { next($0) }
    .mapToFuture { next($0) }
}

private func handlers(_ number: Future<Int>, on queue: OperationQueue) -> Future<Int> {
  number
    .onSuccess { print($0) }
    .onFailure(on: queue) { print($0) }
    .recover { _ in 1 }
    .timeout(after: .seconds(1))
    .onSuccess { print($0) }
    .onFailure(on: queue) { print($0) }
    .recover { _ in 1 }
    .timeout(after: .seconds(1))
    .onSuccess { print($0) }
    .onFailure(on: queue) { print($0) }
    .recover { _ in 1 }
    .timeout(after: .seconds(1))
}

private func tasks(
  _ numbers: ProducerTask<[Int], LoadError>
) -> ProducerTask<[Int], LoadError> {
  numbers
    .map { $0.map { $0 + 1 } }
    .map { $0.map { $0 + 1 } }
    .map { $0.map { $0 + 1 } }
    .map { $0.map { $0 + 1 } }
    .map { $0.map { $0 + 1 } }
    .map { $0.map { $0 + 1 } }
    .map { $0.map { $0 + 1 } }
    .map { $0.map { $0 + 1 } }
    .map { $0.map { $0 + 1 } }
    .map { $0.map { $0 + 1 } }
    .map { $0.map { $0 + 1 } }
    .map { $0.map { $0 + 1 } }
}

private func keyPaths(_ text: Future<String>) -> Future<Int> {
  text
    .mapToValue(\.localizedCapitalized)
    .mapToValue(\.description)
    .mapToValue(\.count)
}
