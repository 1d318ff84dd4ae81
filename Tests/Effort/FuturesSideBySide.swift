import Foundation
import Properations

// Futures side by side in one expression, for `.ci/effort`. The compiler looks into their
// closures last, so a second form of a combinator that fits as well doubles the effort for each
// further future. The note in `Future+OtherForms.swift` says which form was tried.

private func inAnArray(_ number: Future<Int>, on queue: OperationQueue) -> Future<[Int]> {
  Promises.collect([
    number.mapToValue { $0 + 1 },
    number.mapToValue { $0 + 2 },
    number.mapToValue { $0 + 3 },
    number.mapToValue { $0 + 4 },
    number.mapToValue(on: queue) { $0 + 5 },
    number.mapToValue(on: queue) { $0 + 6 },
    number.mapToValue(on: queue) { $0 + 7 },
    number.mapToValue(on: queue) { $0 + 8 },
    Promises.run(on: queue) { 9 },
    Promises.run(on: queue) { 10 },
    Promises.run(on: queue) { 11 },
    Promises.run(on: queue) { 12 },
  ])
}

private func combined(
  _ number: Future<Int>, on queue: OperationQueue
) -> Future<(Int, String, Int, String, Int, Int)> {
  Promises.combine(
    number.mapToValue { $0 + 1 },
    number.mapToValue { "\($0)" },
    number.mapToValue(on: queue) { $0 + 3 },
    number.mapToValue(on: queue) { "\($0)" },
    Promises.run(on: queue) { 5 },
    Promises.run { 6 })
}

private func awaited(_ number: Future<Int>) async throws -> Int {
  try await number.mapToValue { $0 + 1 }.value + number.mapToValue { $0 + 2 }.value
    + number.mapToValue { $0 + 3 }.value
}
