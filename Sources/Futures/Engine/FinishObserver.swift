import Foundation

/// Calls back when an operation has finished, however it was made.
///
/// It depends on the operation, which therefore tells it, and sits in no queue
/// meanwhile, where a pending operation costs its neighbours time. It keeps
/// itself, and with it the operation, until then.
///
///   armed ── start ──▶ observing ── the operation finishes ──▶ fired
///     └────── stop ────────┴──────── stop ──▶ fired, without calling back
package final class FinishObserver: Operation, @unchecked Sendable {
  // Sendable: `state` has a lock.
  private struct State {
    var action: (@Sendable (Operation) -> Void)?
    var operation: Operation?
    /// An operation keeps its dependents as bare pointers: this one must not
    /// go before it has taken itself off the list.
    var keepingAlive: FinishObserver?
    var isStarted = false
  }

  private let state = Lock(State())

  /// Makes an observer that does nothing before it is started.
  package init(
    armedFor operation: Operation, _ action: @escaping @Sendable (Operation) -> Void
  ) {
    super.init()
    state.withLock { $0 = State(action: action, operation: operation, keepingAlive: nil) }
  }

  /// Makes an observer, and starts it.
  package convenience init(
    of operation: Operation, _ action: @escaping @Sendable (Operation) -> Void
  ) {
    self.init(armedFor: operation, action)
    start(observing: operation)
  }

  /// Starts observing.
  package func start(observing operation: Operation) {
    SchedulingPoints.handOff()
    super.addDependency(operation)
    let isArmed = state.withLock { state in
      guard state.action != nil else { return false }
      state.keepingAlive = self
      state.isStarted = true
      return true
    }
    guard isArmed else { return super.removeDependency(operation) }
    #if canImport(Darwin)
      FinishObserver.queue.addOperation(self)
    #else
      // The operation may have finished before.
      _ = isReady
    #endif
  }

  #if canImport(Darwin)
    private static let queue = OperationQueue()
    package override func main() { fire() }
  #else
    /// Foundation reads this whenever a dependency has finished.
    package override var isReady: Bool {
      let isReady = super.isReady
      if isReady { fire() }
      return isReady
    }
  #endif

  private func fire() {
    guard let last = disarm(onlyIfStarted: true), let operation = last.operation else { return }
    last.action?(operation)
  }

  /// The operation, until it has finished.
  package var operation: Operation? { state.withLock { $0.operation } }

  /// Does not call back any more; `false` if it has already.
  @discardableResult
  package func stop() -> Bool { disarm(onlyIfStarted: false)?.action != nil }

  private func disarm(onlyIfStarted: Bool) -> State? {
    let last: State? = state.withLock { state in
      guard state.isStarted || !onlyIfStarted else { return nil }
      defer { state = State() }
      return state
    }
    if let last, last.isStarted, let operation = last.operation {
      super.removeDependency(operation)
    }
    return last
  }
}
