import Foundation
import TestSupport

/// An operation that executes until a test ends it, cancelled or not.
class ManualOperation: Operation, @unchecked Sendable {
  // Sendable: adds only what has locks.
  private enum State { case made, executing, finished }

  private let state = Box(State.made)

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool { state.value == .executing }
  override var isFinished: Bool { state.value == .finished }

  override func start() { move(to: .executing) }

  /// Ends the operation, if it has begun.
  final func end() {
    if isExecuting { move(to: .finished) }
  }

  private func move(to new: State) {
    let keys = new == .executing ? ["isExecuting"] : ["isExecuting", "isFinished"]
    for key in keys { willChangeValue(forKey: key) }
    state.value = new
    for key in keys { didChangeValue(forKey: key) }
  }
}
