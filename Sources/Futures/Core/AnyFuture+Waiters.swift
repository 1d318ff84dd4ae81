// The edges between a future and its waiters: attaching, detaching, leaving.

import Synchronization

extension AnyFuture {
  /// Adds a waiter.
  ///
  /// If the future has settled and delivered, this call tells the waiter.
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
        // Earlier waiters may wait in the queue whose slot this thread holds.
        loop.aside {
          if let waiter = rest.take() { rest = tell(consume waiter, outcome, in: loop) }
        }
      }
    }
  }

  /// Removes a waiter.
  ///
  /// - Parameters:
  ///   - cancelling: Whether the waiter leaves because it was cancelled. If no other
  ///     consumer is left then, this future is asked to cancel.
  ///   - isGivingUp: Whether the waiter gave up. That alone does not cancel this future.
  ///     But if a consumer was cancelled before, and none is left now, this future is
  ///     asked to cancel.
  package final func detach(_ waiter: Waiter, cancelling: Bool, isGivingUp: Bool = false) {
    noteLeaving(waiter)
    if storage.leave(waiter, cancelling: cancelling), cancelling || isGivingUp,
      behaviour?.isStillWanted(self, without: waiter.downstreams.first) != true
    {
      // It leaves its upstream as the consumer that it is.
      WorkLoop.current.cancel(self)
    } else if isPassive {
      becomeConsumer(if: false)
    }
  }

  /// Whether this future is only a watcher of its upstream while it has no consumer of
  /// its own.
  @usableFromInline
  final var isPassive: Bool {
    traits.isSuperset(of: [.isObserver, .actsOnCancellation])
      && traits.isDisjoint(with: [.actsOnSuccess, .actsOnFailure])
  }

  /// Turns this future from a watcher of its upstream into a consumer, because one of its own
  /// consumers now wants the value, or back into a watcher, because it has no consumer left.
  ///
  /// Continues upstream while the futures there are watchers.
  private final func becomeConsumer(if isConsumer: Bool = true) {
    var (current, isConsumer) = (self, isConsumer)
    while current.isPassive, isConsumer || !current.storage.isWanted,
      let next = current.storage.upstream.future,
      next.storage.becomeConsumer(.future(current), if: isConsumer)
    {
      // A consumer may have come or left meanwhile: then the same future takes the other role.
      if current.storage.isWanted == isConsumer { current = next } else { isConsumer.toggle() }
    }
  }

  /// Becomes a watcher or a consumer of a new upstream, whose list of waiters has this
  /// future now.
  ///
  /// Consumers that came or left before this call did not find it in the list.
  final func takeRole() {
    if isPassive { becomeConsumer(if: storage.isWanted) }
  }

  /// The edge that a future downstream keeps in order to leave this future.
  @usableFromInline
  final var edge: Upstream {
    traits.contains(.mayBeReleasedPending) ? .reference(reference) : .future(self)
  }

  /// A reference that does not own the future.
  package final var reference: FutureReference { storage.reference(to: self) }

  /// Leaves the upstream, because this future has settled in another way.
  final func leave(_ upstream: Upstream) {
    let cancelling = !traits.contains(.isShielded)
    if case .source(let source) = upstream {
      source.withdraw(cancelling: cancelling)
    } else {
      upstream.future?.detach(.future(self), cancelling: cancelling)
    }
  }

  /// Whether this object itself has to settle, even if no other object holds it.
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
