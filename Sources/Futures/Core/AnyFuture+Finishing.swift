import Foundation
import Synchronization

extension AnyFuture {
  /// Posts the effect of an event on the future as an operation.
  @inline(__always)
  final func finish(_ finish: Finish) {
    switch finish {
    case .later:
      break
    case .now:
      if hasDependencies, !(traits.contains(.isObserver) && traits.acts(on: outcome)) {
        forgetDependencies()
      }
      postFinished()
      tellFinishWaiters()
    case .whenStarted:
      becomeReady()
    }
  }

  /// Tells the waiters that wait for the finish.
  @inline(__always)
  private final func tellFinishWaiters() {
    guard uses.load(ordering: .relaxed) & Self.hasFinishWaiters != 0 else { return }
    var waiters = storage.takeFinishWaiters()
    WorkLoop.current.perform { _ in
      while let waiter = waiters.popFirst() {
        if case .callback(let callback) = waiter { callback.deliver(self) }
      }
    }
  }

  /// Posts that a future that has settled in a queue is ready.
  fileprivate final func becomeReady() {
    post("isReady")
    finishUnstartedEventually(after: 0.001)
  }

  /// Posts the readiness again, and finishes an operation that is in no queue.
  ///
  /// A queue that has just read `isReady`, and has not adopted the operation yet, misses
  /// the first post.
  fileprivate final func finishUnstartedEventually(after delay: Double) {
    guard delay < 5 else { return }
    // A queue keeps the operation. If perhaps no queue holds it, the waiters for its
    // finish have to be told all the same.
    let kept = OperationState.isKnown ? nil : self
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in
      defer { withExtendedLifetime(kept) {} }
      guard let self, !self.isFinished else { return }
      // If nothing tells whether a queue holds the operation, an operation that only was
      // read finishes late. If a suspended queue holds it after all, Foundation logs
      // that. An operation that never finishes would be worse.
      let isInQueue =
        OperationState.isKnown
        ? OperationState.isInQueue(self) : self.storage.flags.contains(.queued) || delay < 0.05
      guard isInQueue else { return self.finish(self.storage.finishUnstarted()) }
      self.post("isReady")
      self.finishUnstartedEventually(after: delay * 10)
    }
  }
}
