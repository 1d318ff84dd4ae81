import Foundation

/// Calls back when an operation that is not a future has finished.
///
/// The observer depends on the operation, so Foundation tells it. It sits in no
/// queue meanwhile, because a pending operation there costs its neighbours time.
/// From start to end it keeps itself and the operation.
///
///   made ── start ──▶ observing ── the operation finishes ──▶ over
///     └───── stop ────────┴──────── stop ──▶ over, without calling back
package final class OperationObserver: Operation, @unchecked Sendable {
  // Sendable: `state` has a lock.
  private enum State {
    case made(Operation)
    /// An operation keeps unowned pointers to its dependents: the observer owns
    /// itself until it has taken itself off the operation's list.
    case observing(Operation, OperationObserver, @Sendable () -> Void)
    case over
  }

  private let state: Lock<State>

  package init(of operation: Operation) {
    state = Lock(.made(operation))
    super.init()
  }

  /// Makes an observer, and starts it.
  package convenience init(of operation: Operation, _ action: @escaping @Sendable () -> Void) {
    self.init(of: operation)
    start(action)
  }

  /// Starts observing.
  package func start(_ action: @escaping @Sendable () -> Void) {
    guard case .made(let operation) = state.withLock({ $0 }) else { return }
    SchedulingPoints.handOff()
    super.addDependency(operation)
    let isObserving = state.withLock { state in
      guard case .made = state else { return false }
      state = .observing(operation, self, action)
      return true
    }
    guard isObserving else { return super.removeDependency(operation) }
    #if canImport(Darwin)
      OperationObserver.queue.addOperation(self)
    #else
      // The operation may have finished before.
      _ = isReady
    #endif
  }

  #if canImport(Darwin)
    private static let queue = OperationQueue()
    package override func main() { end()?() }
  #else
    /// Foundation reads this whenever a dependency has finished.
    package override var isReady: Bool {
      let isReady = super.isReady
      if isReady { end(onlyIfObserving: true)?() }
      return isReady
    }
  #endif

  /// The operation, until it has finished.
  package var operation: Operation? {
    switch state.withLock({ $0 }) {
    case .made(let operation), .observing(let operation, _, _): operation
    case .over: nil
    }
  }

  /// Ends the observation; `false` if the observer has called back.
  @discardableResult
  package func stop() -> Bool { end() != nil }

  private func end(onlyIfObserving: Bool = false) -> (@Sendable () -> Void)? {
    let last: State = state.withLock { state in
      if case .made = state, onlyIfObserving { return .over }
      defer { state = .over }
      return state
    }
    switch last {
    case .observing(let operation, _, let action):
      SchedulingPoints.handOff()
      super.removeDependency(operation)
      return action
    case .made: return {}
    case .over: return nil
    }
  }
}
