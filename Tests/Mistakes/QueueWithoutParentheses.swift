// A global queue is named, but not asked for.
// error: cannot conform to 'ExecutionContext'
import Foundation
import Properations

private func mistake(_ number: Future<Int>) -> Future<Int> {
  number.mapToValue(on: DispatchQueue.global) { $0 + 1 }
}
