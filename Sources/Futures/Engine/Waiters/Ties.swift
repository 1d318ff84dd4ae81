import Foundation

/// Operations that are cancelled together, if they still exist at that time.
///
/// Each time the list has doubled, it drops the operations that were released. So ties to
/// a long-lived object do not accumulate after the other side was released.
package final class Ties: Sendable {
  private struct Tie {
    weak var operation: Operation?
    let isOnlyForFailure: Bool
  }

  private struct State {
    var ties: [Tie] = []
    var limit = 16
  }

  private let state = Lock(State())

  package init() {}

  package func add(_ operation: Operation, onlyOnFailure isOnlyForFailure: Bool = false) {
    // The operations are released after unlock, because this may be the last reference.
    let alive = state.withLock { state -> [Operation?] in
      state.ties.append(Tie(operation: operation, isOnlyForFailure: isOnlyForFailure))
      guard state.ties.count > state.limit else { return [] }
      let alive = state.ties.map(\.operation)
      state.ties = zip(state.ties, alive).filter { $1 != nil }.map(\.0)
      state.limit = max(16, state.ties.count * 2)
      return alive
    }
    withExtendedLifetime(alive) {}
  }

  /// Cancels the operations, once.
  package func cancelAll(afterFailure hasFailed: Bool = true) {
    let ties = state.withLock { state in
      defer { state.ties = [] }
      return state.ties
    }
    for tie in ties where hasFailed || !tie.isOnlyForFailure {
      guard let operation = tie.operation else { continue }
      if operation is AnyFuture {
        operation.cancel()
      } else {
        // Its `cancel()` may be user code.
        WorkLoop.current.callOut { operation.cancel() }
      }
    }
  }
}

extension AnyFuture {
  /// Cancels an operation when this future settles, or only when it fails.
  ///
  /// Returns `false` if the future has settled.
  package final func tie(_ operation: Operation, onlyOnFailure: Bool) -> Bool {
    let (ties, isNew) = storage.ties()
    ties.add(operation, onlyOnFailure: onlyOnFailure)
    if isNew, !watch({ ties.cancelAll(afterFailure: $0.outcome != .success) }) {
      // Other threads may have added ties meanwhile.
      ties.cancelAll(afterFailure: outcome != .success)
    }
    // The watcher of a settled future has cancelled the ties, or is doing so.
    return !isSettled
  }
}
