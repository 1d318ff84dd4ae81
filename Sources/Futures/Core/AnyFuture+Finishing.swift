import Foundation
import Synchronization

extension AnyFuture {
  @inline(__always)
  final func finish(_ finish: Finish) {
    switch finish {
    case .later:
      break
    case .now:
      if hasDependencies, !traits.contains(.isObserver) { forgetDependencies() }
      postFinished()
      tellFinishWaiters()
    case .whenStarted:
      becomeReady()
    }
  }

  /// Tells the waiters that waited for the finish, of a future that settled
  /// before it finished.
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

  /// Settled in a queue that has not started it yet.
  fileprivate final func becomeReady() {
    post("isReady")
    finishUnstartedEventually(after: 0.001)
  }

  /// Repeats the readiness, in case it came between a queue's question and its
  /// adopting the operation; and finishes an operation that turns out to be in
  /// no queue.
  fileprivate final func finishUnstartedEventually(after delay: Double) {
    guard delay < 5 else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in
      guard let self, !self.isFinished else { return }
      #if canImport(Darwin)
        // Nothing tells whether a queue has it. Finishing one that a suspended
        // queue has is only logged there; never finishing would be worse.
        let isInQueue = delay < 0.05
      #else
        let isInQueue = !OperationState.isKnown ? delay < 0.05 : OperationState.isInQueue(self)
      #endif
      guard isInQueue else { return self.finish(self.storage.finishUnstarted()) }
      self.post("isReady")
      self.finishUnstartedEventually(after: delay * 10)
    }
  }
}
