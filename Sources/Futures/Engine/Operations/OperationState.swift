import Foundation

extension Operation {
  /// Whether a queue would refuse the operation and stop the process: the operation has
  /// begun, or a queue holds it.
  ///
  /// On Apple platforms an operation that waits in a queue is not recognised.
  package final var isUsed: Bool { OperationState.isUsed(self) }

  /// Whether the operation may be released before it has been started.
  final var mayBeDropped: Bool { OperationState.takesCompletionBlock(self) }
}

#if !(canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN)

  /// Tells whether a queue holds an operation, or is adopting it.
  ///
  /// Foundation has no public interface for that, but a promise depends on it. In a queue
  /// the promise may finish only after the queue has started it; in no queue it has to
  /// finish by itself. `addOperation` marks the operation as being enqueued before it
  /// reads `isReady`. So `isReady` can tell by the mark whether a queue reads it. Only a
  /// promise whose `isReady` is read while it is pending pays for this check.
  enum OperationState {
    /// Where reflection finds the mark.
    private static let index: Int? = {
      Mirror(reflecting: Operation()).children.enumerated()
        .first { $0.element.label == "__state" }?.offset
    }()

    /// Whether a queue holds the operation or is adopting it.
    ///
    /// If a later Foundation keeps its mark elsewhere, every reader counts as a queue. A
    /// promise whose `isReady` was read, but which is in no queue, then finishes late
    /// (`AnyFuture.finishUnstartedEventually`), but it does finish.
    static func isInQueue(_ operation: Operation) -> Bool {
      name(of: operation).map { $0 != "initialized" } ?? true
    }

    /// Whether a queue is adopting the operation at this moment.
    static func isBeingAdopted(_ operation: Operation) -> Bool {
      name(of: operation) == "enqueuing"
    }

    /// Whether a queue has adopted the operation.
    ///
    /// `addOperation` reads `isReady`, makes the operation wait for the barriers of the queue,
    /// and has adopted it then. A post before that may be lost. It is worse than lost if there
    /// are barriers: what the post has read before they count, and records afterwards, lets the
    /// queue start the operation in front of them. So the library posts only afterwards. (Of
    /// two barriers Foundation itself posts when the first ends.)
    static func isAdopted(_ operation: Operation) -> Bool {
      name(of: operation).map { $0 != "initialized" && $0 != "enqueuing" } ?? true
    }

    /// Whether a queue that has adopted the operation has not begun to start it.
    static func isWaiting(_ operation: Operation) -> Bool { name(of: operation) == "enqueued" }

    /// Whether a queue has adopted the operation, or is adopting it, and has not begun to
    /// start it.
    static func isTakenButNotStarted(_ operation: Operation) -> Bool {
      isBeingAdopted(operation) || isWaiting(operation)
    }

    /// Whether a queue that holds the operation is starting it.
    static func isStarting(_ operation: Operation) -> Bool {
      name(of: operation).map { $0 == "starting" } ?? true
    }

    /// Whether a queue would refuse the operation.
    static func isUsed(_ operation: Operation) -> Bool {
      if isKnown(operation), isInQueue(operation) { return true }
      // A future that is in no queue may join one even after it has settled.
      return !(operation is AnyFuture) && (operation.isExecuting || operation.isFinished)
    }

    /// Whether an operation that has not been started may get another completion block.
    static func takesCompletionBlock(_ operation: Operation) -> Bool {
      !operation.isExecuting && isKnown(operation) && !isInQueue(operation)
    }

    private static func name(of operation: Operation) -> String? {
      guard let index, let all = ReflectedOperation.properties(of: operation), index < all.count
      else { return nil }
      return String(describing: all[all.index(all.startIndex, offsetBy: index)].value)
    }

    /// Whether `isInQueue` can tell.
    ///
    /// A subclass may have a mirror of its own.
    static func isKnown(_ operation: Operation) -> Bool { name(of: operation) != nil }
  }

  extension Operation {
    /// Called before states of the operation change.
    @inline(__always)
    package final func willChange(_ keys: OperationKeys) {}

    /// Tells Foundation that states of the operation have changed.
    @inline(__always)
    package final func didChange(_ keys: OperationKeys) {
      if keys.contains(.isReady) { post("isReady") }
      if keys.contains(.isFinished) { post("isFinished") }
    }

    /// Tells Foundation of a state that has changed before.
    @inline(__always)
    package final func post(_ keys: OperationKeys) { didChange(keys) }

    /// Tells the queue that holds the operation that it has become ready.
    ///
    /// If a queue is adopting the operation at this moment, it hears of that afterwards. A
    /// queue that gets the operation later reads the readiness itself.
    package final func postReadiness() { postReadiness(again: 0.01) }

    /// Tells the queue that holds the operation that it is ready no more.
    package final func postBlocked() {
      if OperationState.isWaiting(self) { return post("isReady") }
      guard OperationState.isBeingAdopted(self) else { return }
      // The queue may have read the readiness before.
      ReadinessQueue.queue.asyncAfter(deadline: .now() + 0.001) { [weak self] in
        self?.postBlocked()
      }
    }

    private final func postReadiness(again delay: Double) {
      if OperationState.isBeingAdopted(self) { return postReadiness(after: 0.001, again: delay) }
      // Of two threads that read the readiness, the one that found nothing may be the last to
      // record it. So only a thread that finds that the operation is ready posts.
      guard OperationState.isAdopted(self), isReady else { return }
      didChange(.isReady)
      // Foundation posts in any case when a barrier ends. So an operation that still waits for
      // a slot is posted twice more.
      if delay < 5, isPostedOnlyHere, OperationState.isWaiting(self) {
        postReadiness(after: delay, again: 100 * delay)
      }
    }

    private final func postReadiness(after delay: Double, again next: Double) {
      ReadinessQueue.queue.asyncAfter(deadline: .now() + delay) { [weak self] in
        self?.postReadiness(again: next)
      }
    }

    /// Whether no other code posts the readiness again: tasks do, futures after they have
    /// settled do, and operations of the user post for themselves.
    private final var isPostedOnlyHere: Bool {
      guard let future = self as? AnyFuture else { return self is PlaceholderOperation }
      return future.behaviour == nil && (!future.isSettled || future.hasDependencies)
    }

    /// Posts the readiness after a change that `willChange(_:)` announced.
    @inline(__always)
    package final func didBecomeReady(if hasChanged: Bool) { if hasChanged { postReadiness() } }

    private final func post(_ key: String) {
      SchedulingPoints.handOff()
      didChangeValue(forKey: key)
    }
  }

  // The changes of a future. Foundation hears of them when the future is delivered, by
  // `AnyFuture.finish(_:)`.
  extension AnyFuture {
    @inline(__always)
    final func willSettle(_ outcome: Outcome, from origin: SettlementOrigin) -> OperationKeys { [] }

    @inline(__always)
    final func didSettle(_ keys: OperationKeys) {}

    @inline(__always)
    final func willRun() -> OperationKeys { [] }

    @inline(__always)
    final func willWait() -> OperationKeys { [] }

    @inline(__always)
    final func willReturn() -> OperationKeys { [] }

    @inline(__always)
    final func willStart() -> OperationKeys { [] }

    @inline(__always)
    final func postUnlessAnnounced(_ key: OperationKeys, _ announced: OperationKeys) {
      if key == .isReady { postReadiness() } else { post(key) }
    }

    /// Whether code may observe a future that no other object holds: not here.
    @inline(__always)
    final var isObservedByKey: Bool { false }
  }

  extension AnyFuture {
    /// Records that a queue is about to take the operation itself.
    ///
    /// The queue shows it by reading `isReady`, but the future may finish before that.
    final func willBeAdded(to queue: OperationQueue) {
      // A task queue does this itself, perhaps later.
      if queue is any SlotQueue { return }
      behaviour?.willBeAdded(self, to: queue)
      if prepareForQueue() { return }
      // Another thread may be about to post it. Foundation traps only if it knows.
      post(.isFinished)
    }
  }

#endif

#if !canImport(Darwin)

  extension OperationState {
    /// Whether Foundation keeps the completion block after it was called: on Linux it does.
    static var keepsCompletionBlock: Bool { true }
  }

  enum ReflectedOperation {
    /// The stored properties that Foundation gives an operation.
    static func properties(of operation: Operation) -> Mirror.Children? {
      var mirror: Mirror? = Mirror(reflecting: operation)
      while let current = mirror, current.subjectType != Operation.self {
        mirror = current.superclassMirror
      }
      return mirror?.children
    }
  }

#endif
