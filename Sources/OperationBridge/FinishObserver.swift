import Foundation
import Futures

/// Calls back when an operation has finished, however it was made.
///
/// It depends on the operation, which therefore tells it, and sits in no queue
/// meanwhile, where a pending operation costs its neighbours time. It keeps
/// itself, and with it the operation, until then.
///
///   armed ── the operation finishes ──▶ fired
///     └───── stop ────────────────────▶ fired, without calling back
final class FinishObserver: Operation, @unchecked Sendable {
  // Sendable: `state` has a lock.
  private struct State {
    var action: (@Sendable (Operation) -> Void)?
    var operation: Operation?
    /// An operation keeps its dependents as bare pointers: this one must not
    /// go before it has taken itself off the list.
    var keepingAlive: FinishObserver?
  }

  private let state = Lock(State())

  init(of operation: Operation, _ action: @escaping @Sendable (Operation) -> Void) {
    super.init()
    super.addDependency(operation)
    state.withLock { state in
      state = State(action: action, operation: operation, keepingAlive: self)
    }
    #if canImport(Darwin)
      FinishObserver.queue.addOperation(self)
    #else
      // The operation may have finished before the action was there.
      _ = isReady
    #endif
  }

  #if canImport(Darwin)
    private static let queue = OperationQueue()
    override func main() { fire() }
  #else
    /// Foundation reads this whenever a dependency has finished.
    override var isReady: Bool {
      let isReady = super.isReady
      if isReady { fire() }
      return isReady
    }
  #endif

  private func fire() {
    let (action, operation) = disarm()
    if let operation { action?(operation) }
  }

  /// Does not call back any more.
  func stop() { _ = disarm() }

  private func disarm() -> ((@Sendable (Operation) -> Void)?, Operation?) {
    let last = state.withLock { state in
      defer { state = State() }
      return state
    }
    if let operation = last.operation { super.removeDependency(operation) }
    return (last.action, last.operation)
  }
}
