// Who waits for a future, whom it waits for, and how they part.

import Synchronization

extension AnyFuture {
  /// Adds a waiter.
  ///
  /// If the future has settled, the waiter is told as if it had been there.
  @usableFromInline
  package final func attach(_ waiter: consuming Waiter, isConsumer: Bool = true) {
    if waiter.waitsForFinish {
      uses.bitwiseOr(Self.hasFinishWaiters, ordering: .sequentiallyConsistent)
    }
    if storage.attach(waiter, isConsumer: isConsumer) {
      if isConsumer, isPassive { passDemandOn() }
      return
    }
    var rest: Waiter? = consume waiter
    WorkLoop.withCurrent { loop in
      loop.perform { loop in
        if let waiter = rest.take() { rest = tell(consume waiter, outcome, in: loop) }
      }
    }
  }

  /// Takes a waiter away.
  ///
  /// - Parameter cancelling: Whether it leaves because it was cancelled. If
  ///   then no other consumer is left, this future is asked to cancel.
  package final func detach(_ waiter: Waiter, cancelling: Bool) {
    if storage.leave(waiter, cancelling: cancelling), behaviour?.mayBeWanted(self) != true {
      WorkLoop.current.cancel(self)
    }
  }

  /// Whether this future only watches the one above, unless others want its
  /// value.
  @usableFromInline
  final var isPassive: Bool {
    traits.isSuperset(of: [.isObserver, .actsOnCancellation])
      && traits.isDisjoint(with: [.actsOnSuccess, .actsOnFailure])
  }

  /// Turns this future, which only watches, into a consumer of the one upstream:
  /// one of its own consumers now wants the value. So do those upstream that only
  /// watch.
  fileprivate final func passDemandOn() {
    var current = self
    while current.isPassive {
      let next: AnyFuture? =
        switch current.storage.upstream {
        case .future(let future): future
        case .reference(let reference): reference.future
        case .none, .source: nil
        }
      guard let next, next.storage.becomeConsumer(.future(current)) else { return }
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

  /// Whether somebody relies on this very object to settle, although nobody
  /// need hold it.
  final var isPinned: Bool {
    uses.load(ordering: .sequentiallyConsistent) & Self.mustSettle != 0
  }

  /// Keeps the object from being bypassed while it stands for another future.
  final func pin() {
    guard traits.contains(.mayBeReleasedPending) else { return }
    uses.bitwiseOr(Self.mustSettle, ordering: .sequentiallyConsistent)
    if case .source(let source) = storage.upstream { source.pin(self) }
  }
}
