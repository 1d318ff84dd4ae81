import Foundation

/// Operations that are cancelled together, if they still exist then.
///
/// Operations that are gone are dropped whenever the list has doubled. So a tie to
/// an object that lives long costs nothing when the other side is gone.
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
    // The operations that exist are released after the lock: this may be the last
    // reference.
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

  /// Cancels them, once.
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
        // (Its `cancel()` may be a user's.)
        WorkLoop.current.callOut { operation.cancel() }
      }
    }
  }
}

extension AnyFuture {
  /// Cancels an operation when this future settles, or fails; `false` if the future
  /// has settled.
  package final func tie(_ operation: Operation, onlyOnFailure: Bool) -> Bool {
    let (ties, isNew) = storage.ties()
    ties.add(operation, onlyOnFailure: onlyOnFailure)
    if isNew, !watch({ ties.cancelAll(afterFailure: $0.outcome != .success) }) {
      // (Other threads may have added theirs meanwhile.)
      ties.cancelAll(afterFailure: outcome != .success)
    }
    // (The watcher of a settled future has cancelled the ties, or is doing so.)
    return !isSettled
  }
}
