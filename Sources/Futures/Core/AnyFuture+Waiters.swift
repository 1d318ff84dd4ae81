// Who waits for a future, whom it waits for, and how they part.

import Synchronization

extension AnyFuture {
  /// Adds a waiter; if the future has settled, it is told as if it had been
  /// there, but never before this returns unless it runs inline.
  @usableFromInline
  package final func attach(_ waiter: Waiter, isDemanding: Bool = true) {
    if storage.attach(waiter, isDemanding: isDemanding) {
      if isDemanding, isPassive { passDemandOn() }
      return
    }
    switch waiter {
    case .callback(let callback):
      Drain.current.batch { callback.deliver(self) }
    case .future(let future):
      let drain = Drain.current
      drain.batch {
        future.upstreamHasSettled(self, outcome, in: drain, mayTakeTurn: false)
      }
    }
  }

  /// Takes a waiter away.
  ///
  /// If it was the last one that wanted the value, this future is asked to
  /// cancel.
  package final func detach(_ waiter: Waiter, cancelling: Bool) {
    if storage.leave(waiter), cancelling, behaviour?.mayBeWanted(self) != true { cancel() }
  }

  /// Whether this future only watches the one above, unless others want its
  /// value.
  @usableFromInline
  final var isPassive: Bool {
    traits.isSuperset(of: [.isObserver, .actsOnCancellation])
      && traits.isDisjoint(with: [.actsOnSuccess, .actsOnFailure])
  }

  /// Somebody wants the value of a future that only watched: so it wants it,
  /// and so do those above that only watch.
  fileprivate final func passDemandOn() {
    var current = self
    while current.isPassive {
      let next: AnyFuture? =
        switch current.storage.upstream {
        case .future(let future): future
        case .reference(let reference): reference.future
        case .none, .source: nil
        }
      guard let next else { return }
      next.storage.demand(.future(current))
      current = next
    }
  }

  /// The edge by which a future below leaves this one.
  @usableFromInline
  final var edge: Upstream {
    traits.contains(.mayBeReleasedPending) ? .reference(reference) : .future(self)
  }

  /// A reference that does not own.
  package final var reference: FutureReference { storage.reference(to: self) }

  /// Goes away from what this future waited for, because it has settled
  /// otherwise.
  final func leave(_ upstream: Upstream) {
    let cancelling = !traits.contains(.isShielded)
    switch upstream {
    case .none:
      break
    case .future(let future):
      future.detach(.future(self), cancelling: cancelling)
    case .reference(let reference):
      reference.future?.detach(.future(self), cancelling: cancelling)
    case .source(let source):
      source.withdraw(cancelling: cancelling)
    }
  }

  /// Adds something to do when the future settles; `false` if it has settled.
  package final func watch(
    onlyOnCancellation: Bool = false, isUserCode: Bool = false,
    _ body: @escaping (AnyFuture) -> Void
  ) -> Bool {
    let isWatching = storage.watch(
      SettlementHandler(
        onlyOnCancellation: onlyOnCancellation, isUserCode: isUserCode, body: body))
    if isWatching { pin() }
    return isWatching
  }

  /// Whether somebody relies on this very object to settle, although nobody
  /// need hold it.
  final var isPinned: Bool {
    customised.load(ordering: .sequentiallyConsistent) & Self.mustSettle != 0
  }

  /// Keeps the object from being bypassed while it stands for another future.
  final func pin() {
    guard traits.contains(.mayBeReleasedPending) else { return }
    customised.bitwiseOr(Self.mustSettle, ordering: .sequentiallyConsistent)
    if case .source(let source) = storage.upstream { source.pin(self) }
  }
}
