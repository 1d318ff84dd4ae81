import Foundation

/// Operations that are to be cancelled at some moment, if they still exist then.
///
/// Those that are gone are dropped whenever the list has doubled: a tie to
/// something that lives long costs nothing afterwards.
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
    // Those that exist come out of the lock: looking at one may make this the
    // last to release it.
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
    for tie in ties where hasFailed || !tie.isOnlyForFailure { tie.operation?.cancel() }
  }
}

extension AnyFuture {
  /// Cancels an operation when this future settles, or fails; `false` if the future
  /// has settled.
  package final func tie(_ operation: Operation, onlyOnFailure: Bool) -> Bool {
    let (ties, isNew) = storage.ties()
    ties.add(operation, onlyOnFailure: onlyOnFailure)
    if isNew {
      return watch { future in ties.cancelAll(afterFailure: future.outcome != .success) }
    }
    // (A future that has settled has let go of its ties, or is just doing so.)
    return !isSettled
  }
}
