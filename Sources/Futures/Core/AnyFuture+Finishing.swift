import Foundation
import Synchronization

extension AnyFuture {
  /// Posts the effect of an event on the future as an operation.
  ///
  /// - Parameter announced: The keys that were posted with the change already.
  @inline(__always)
  final func finish(_ finish: Finish, announced: OperationKeys) {
    switch finish {
    case .later:
      break
    case .now:
      if hasDependencies, !(traits.contains(.isObserver) && traits.acts(on: outcome)) {
        forgetDependencies()
      }
      postFinished(announced: announced)
      tellFinishWaiters()
    case .whenStarted:
      postUnlessAnnounced(.isReady, announced)
      finishUnstartedEventually(after: 0.001)
    }
  }

  /// Finishes a future that settled while its closure ran, because the closure has
  /// returned.
  @inline(__always)
  final func closureHasReturned() {
    let keys = willReturn()
    let finish = storage.closureReturned()
    didChange(keys)
    self.finish(finish, announced: keys)
  }

  /// Makes the future wait for a source that its closure has returned.
  ///
  /// Returns `false` if the future has settled.
  final func waitAfterClosure(for upstream: Upstream) -> Bool {
    let keys = willWait()
    let isWaiting = storage.wait(for: upstream)
    didChange(keys)
    return isWaiting
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

  /// Posts the readiness again, and finishes an operation that is in no queue.
  ///
  /// Another thread that has found the operation not ready may be the last to record that.
  final func finishUnstartedEventually(after delay: Double) {
    guard delay < 5 else { return }
    // A queue keeps the operation. If perhaps no queue holds it, the waiters for its
    // finish have to be told all the same.
    let kept = OperationState.isKnown(self) ? nil : self
    // Not on a global queue, whose threads may all be blocked.
    ReadinessQueue.queue.asyncAfter(deadline: .now() + delay) { [weak self] in
      guard let self else { return }
      let isFinished = self.isFinished
      if isFinished ? kept == nil : self.waitsLongerForQueue(after: delay) { return }
      // Not here: inline closures run there, and in most cases users' objects are released. A
      // queue that only this call uses gets a thread at once. A release may wait for one.
      let queue = isFinished ? DispatchQueue.global() : DispatchQueue(label: "Properations.Finish")
      queue.async {
        // A queue may have got the future meanwhile.
        if !isFinished, !self.waitsLongerForQueue(after: delay) { self.finishUnstarted() }
        withExtendedLifetime(kept) {}
      }
    }
  }

  /// Posts the readiness again, and goes on waiting, if a queue may hold the future.
  ///
  /// - Parameter delay: The time that the queue has had.
  private final func waitsLongerForQueue(after delay: Double) -> Bool {
    guard isPerhapsInQueue(after: delay) else { return false }
    postReadiness()
    finishUnstartedEventually(after: delay * 10)
    return true
  }

  /// Whether a queue may hold a future that has settled and is to finish when that queue has
  /// started it.
  ///
  /// - Parameter delay: The time that the queue has had.
  private final func isPerhapsInQueue(after delay: Double) -> Bool {
    if OperationState.isKnown(self) { return isBeingAdded || OperationState.isInQueue(self) }
    // An operation that only was read finishes late. If a suspended queue holds it after all,
    // Foundation logs that. An operation that never finishes would be worse.
    return storage.flags.contains(.queued) || delay < 0.05
  }

  /// Whether a thread is about to give the future itself to a queue.
  private final var isBeingAdded: Bool {
    uses.load(ordering: .sequentiallyConsistent) & Self.isBeingAdded != 0
  }

  /// Finishes an operation that turned out to be in no queue.
  private final func finishUnstarted() {
    let keys = willStart()
    let finish = storage.finishUnstarted()
    didChange(keys)
    self.finish(finish, announced: keys)
  }
}
