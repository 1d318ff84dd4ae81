import Foundation

/// Calls back when an operation that is not a future has finished.
///
/// On Linux the observer depends on the operation, so Foundation notifies it. It is in no
/// queue meanwhile, because a pending operation there slows the whole queue down. On
/// Apple's platforms it observes the operation's key (`FinishObservation`). From start to
/// end it keeps itself and the operation alive.
///
///   made ── start ──▶ observing ── the operation finishes ──▶ over
///     └───── stop ────────┴──────── stop ──▶ over, without calling back
package final class OperationObserver: Operation, @unchecked Sendable {
  // Sendable: `state` has a lock.
  private enum State {
    case made(Operation)
    /// An operation keeps unowned pointers to its dependents. So the observer owns itself
    /// until it has removed itself from the operation's list.
    case observing(Operation, OperationObserver, @Sendable () -> Void)
    case over
  }

  private let state: Lock<State>

  package init(of operation: Operation) {
    state = Lock(.made(operation))
    super.init()
  }

  /// Makes an observer and starts it.
  package convenience init(of operation: Operation, _ action: @escaping @Sendable () -> Void) {
    self.init(of: operation)
    start(action)
  }

  /// Starts observing.
  package func start(_ action: @escaping @Sendable () -> Void) {
    guard case .made(let operation) = state.withLock({ $0 }) else { return }
    SchedulingPoints.handOff()
    beginListening(to: operation)
    let isObserving = state.withLock { state in
      guard case .made = state else { return false }
      state = .observing(operation, self, action)
      return true
    }
    guard isObserving else { return endListening(to: operation) }
    // The operation may have finished before the observation began.
    if hasFinishedListening(to: operation) { operationHasFinished() }
  }

  /// Ends the observation and calls back, if the observation has begun.
  func operationHasFinished() { end(onlyIfObserving: true)?() }

  /// The object that Foundation notifies, where there is one.
  let observation = FinishObservation()

  #if !canImport(Darwin)
    private func beginListening(to operation: Operation) { super.addDependency(operation) }

    private func endListening(to operation: Operation) { super.removeDependency(operation) }

    private func hasFinishedListening(to operation: Operation) -> Bool { super.isReady }

    /// Foundation reads this property whenever a dependency has finished.
    package override var isReady: Bool {
      let isReady = super.isReady
      if isReady { operationHasFinished() }
      return isReady
    }
  #endif

  /// Ends the observation.
  ///
  /// Returns `false` if the observer has called back.
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
      endListening(to: operation)
      return action
    case .made: return {}
    case .over: return nil
    }
  }
}

#if !canImport(Darwin)

  /// Nothing: Foundation notifies the observer itself.
  struct FinishObservation: Sendable {}

#endif
