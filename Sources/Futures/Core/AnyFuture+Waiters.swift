// The edges between a future and its waiters: attaching, detaching, leaving.

import Synchronization

extension AnyFuture {
  /// Adds a waiter.
  ///
  /// If the future has settled and delivered, the waiter is told by this call.
  @usableFromInline
  package final func attach(_ waiter: consuming Waiter, isConsumer: Bool = true) {
    if waiter.waitsForFinish {
      uses.bitwiseOr(Self.hasFinishWaiters, ordering: .sequentiallyConsistent)
    }
    if storage.attach(waiter, isConsumer: isConsumer) {
      if isConsumer, isPassive { becomeConsumer() }
      if traits.contains(.startsWhenObserved) { startBecauseObserved() }
      return
    }
    var rest: Waiter? = consume waiter
    WorkLoop.withCurrent { loop in
      loop.perform { loop in
        // (Others that came before may wait in the queue whose place this thread
        // has.)
        loop.aside {
          if let waiter = rest.take() { rest = tell(consume waiter, outcome, in: loop) }
        }
      }
    }
  }

  /// Takes a waiter away.
  ///
  /// - Parameter cancelling: Whether the waiter leaves because it was cancelled. If
  ///   no other consumer is left then, this future is asked to cancel.
  /// - Parameter isGivingUp: Whether the waiter gave up. That alone does not cancel
  ///   this future; but if a consumer was cancelled before, and no other is left now,
  ///   this future is asked to cancel.
  package final func detach(_ waiter: Waiter, cancelling: Bool, isGivingUp: Bool = false) {
    if storage.leave(waiter, cancelling: cancelling), cancelling || isGivingUp,
      behaviour?.isStillWanted(self, without: waiter.downstreams.first) != true
    {
      WorkLoop.current.cancel(self)
    }
    if isPassive { becomeWatcher() }
  }

  /// Whether this future is only a watcher of its upstream, as long as it has no
  /// consumer of its own.
  @usableFromInline
  final var isPassive: Bool {
    traits.isSuperset(of: [.isObserver, .actsOnCancellation])
      && traits.isDisjoint(with: [.actsOnSuccess, .actsOnFailure])
  }

  /// Turns this future back into a watcher of its upstream, because it has no
  /// consumer left; and so on upstream, as far as the futures there are watchers.
  private final func becomeWatcher() {
    var current = self
    while current.isPassive, !current.storage.isWanted,
      let next = current.storage.upstream.future,
      next.storage.becomeWatcher(.future(current))
    {
      // (A consumer may have come meanwhile.)
      if current.storage.isWanted { return current.becomeConsumer() }
      current = next
    }
  }

  /// Turns this future from a watcher of its upstream into a consumer, because one
  /// of its own consumers now wants the value; and so on upstream, as far as the
  /// futures there are watchers.
  private final func becomeConsumer() {
    var current = self
    while current.isPassive, let next = current.storage.upstream.future,
      next.storage.becomeConsumer(.future(current))
    {
      current = next
    }
  }

  /// The edge that a future downstream keeps in order to leave this one.
  @usableFromInline
  final var edge: Upstream {
    traits.contains(.mayBeReleasedPending) ? .reference(reference) : .future(self)
  }

  /// A reference that does not own.
  package final var reference: FutureReference { storage.reference(to: self) }

  /// Leaves the upstream, because this future has settled otherwise.
  final func leave(_ upstream: Upstream) {
    let cancelling = !traits.contains(.isShielded)
    if case .source(let source) = upstream {
      source.withdraw(cancelling: cancelling)
    } else {
      upstream.future?.detach(.future(self), cancelling: cancelling)
    }
  }

  /// Whether this very object has to settle, even if no other object holds it.
  final var isPinned: Bool {
    uses.load(ordering: .sequentiallyConsistent) & Self.mustSettle != 0
  }

  /// Keeps the object alive while it stands for another future, so that its waiters
  /// do not bypass it.
  final func pin() {
    guard traits.contains(.mayBeReleasedPending) else { return }
    uses.bitwiseOr(Self.mustSettle, ordering: .sequentiallyConsistent)
    if case .source(let source) = storage.upstream { source.pin(self) }
  }
}
