/// Stands between two futures: the *target* settles like the *source*.
///
/// `mapToFuture` and `fulfill(from:)` make a target wait for a source. The waiter does
/// not own the target. If no other object owns it either, the target is released, and its
/// own waiters move on to the source. So a recursion through `mapToFuture`, or a million
/// promises linked in a row, needs no stack and keeps no object of an earlier step:
///
///   root ◀── step 1 ◀── step 2 ◀── ...        while other objects hold the steps
///   root ◀─────────────────────── step n      after the steps are released
///
/// The target's release and the source's delivery can meet on two threads. The first to
/// take the lock decides:
///
///   waiting ── deliver ───────────────────────────▶ finished
///      │  └─── deliver while the target is ───────▶ delivered(source): the target's
///      │       released                             release gives its waiters to
///      │                                            the source
///      ├────── release ───────────────────────────▶ finished: the waiters have
///      │                                            gone to the source
///      └────── release while the source is ───────▶ orphaned(waiters): deliver
///              released                             gives them to the future that
///                                                   takes the source's place
///
/// When several threads at once release a cycle of linked promises, each orphan waits in
/// the list of another one. The last orphan detects the cycle and breaks all of them.
final class ForwardingWaiter: CallbackWaiter, @unchecked Sendable {
  // Sendable: `state` and `pinned` have locks, the rest never changes.
  private enum State {
    case waiting(source: Upstream)
    case delivered(AnyFuture)
    case orphaned(WaiterList)
    case finished
  }

  /// Guards the holders of all orphans.
  private static let holderLock = Lock(())

  private let state = Lock<State>(.finished)
  private let target: FutureReference
  /// Whether the target has no other upstream, which it would have to leave.
  private let isFirst: Bool
  /// The target, if it has to settle although no other object holds it.
  private let pinned = Lock<AnyFuture?>(nil)
  /// The orphan in whose list this one waits.
  ///
  /// Guarded by `holderLock`.
  private weak var holder: ForwardingWaiter?

  /// Makes `target` settle like `source`.
  ///
  /// If `target` has a closure, that closure has returned.
  static func link(_ target: AnyFuture, to source: AnyFuture) {
    var waiter = ForwardingWaiter(target, source, isFirst: true)
    switch target.storage.beginWaiting(for: .source(waiter)) {
    case true?:
      if target.isPinned { waiter.pin(target) }
    case false?:
      // The target has settled in another way while its closure ran.
      target.finish(target.storage.closureReturned())
      return source.cancelIfUnwanted()
    case nil:
      // The target waits for another future already. The first of the two to settle wins.
      let second = ForwardingWaiter(target, source, isFirst: false)
      guard target.watch({ _ in second.withdraw(cancelling: true) }) else {
        return source.cancelIfUnwanted()
      }
      waiter = second
    }
    source.attach(.callback(waiter))
    target.wakeProgressWatches()
    if target.isSettled {
      waiter.withdraw(cancelling: !target.traits.contains(.isShielded))
    } else if Graph.closesCycle(target, waitingFor: source) {
      // The origin is `upstream`, because the target must not cancel the source. The
      // source fails with the same cycle.
      target.settle(
        failure: ProperationsError.cycle(createdAt: target.createdAt), from: .upstream)
      waiter.withdraw(cancelling: false)
    }
  }

  private init(_ target: AnyFuture, _ source: AnyFuture, isFirst: Bool) {
    self.target = target.reference
    self.isFirst = isFirst
    super.init()
    point(at: source)
  }

  override func pin(_ target: AnyFuture) {
    pinned.replace(with: target)
    // The target may have settled just before.
    if isDone { unpin() }
  }

  private func unpin() { pinned.replace(with: nil) }

  /// A target that is being released is not done: its waiters are about to move on.
  override var isDone: Bool {
    if let target = target.future { return target.isSettled }
    return state.withLock { state in
      if case .finished = state { return true }
      return false
    }
  }

  override var hasMovedOn: Bool { target.future == nil }

  override var downstreams: [AnyFuture] { target.futureInGraph.map { [$0] } ?? [] }

  override var upstreams: [AnyFuture] {
    let edge: Upstream = state.withLock { state in
      if case .waiting(let source) = state { return source }
      return .none
    }
    return edge.futures
  }

  override var progressParts: ProgressParts? { ProgressParts(upstreams) }

  override func retarget(_ source: AnyFuture) {
    Self.holderLock.withLock { _ in holder = nil }
    point(at: source)
  }

  private func point(at source: AnyFuture) {
    let edge = source.edge
    let last = state.withLock { state -> State? in
      // Orphans stay here. They move on when the new source settles.
      if case .orphaned = state { return nil }
      defer { state = .waiting(source: edge) }
      return state
    }
    // Released after unlock.
    withExtendedLifetime(last) {}
  }

  override func deliver(_ source: AnyFuture) {
    if let future = target.future {
      state.replace(with: .finished)
      unpin()
      future.settle(like: source, from: isFirst ? .upstream : .outside)
      return
    }
    let orphans: WaiterList? = state.withLock { state in
      if case .orphaned(let waiters) = state {
        state = .finished
        return waiters
      }
      state = .delivered(source)
      return nil
    }
    if let orphans { source.take(orphans) }
  }

  override func withdraw(cancelling: Bool) {
    for future in upstreams { future.detach(.callback(self), cancelling: cancelling) }
    unpin()
  }

  /// Moves the waiters of a target that is released unsettled to the source.
  func targetIsReleased(_ released: AnyFuture, waiters: WaiterList) {
    let hadConsumer = waiters.hasConsumer
    let edge: Upstream = state.withLock { state in
      if case .waiting(let edge) = state { return edge }
      return .none
    }
    let awaited = edge.future
    let source: AnyFuture? = state.withLock { state in
      switch state {
      case .waiting:
        if let awaited {
          state = .finished
          return awaited
        }
        state = .orphaned(waiters)
        return nil
      case .delivered(let future):
        state = .finished
        return future
      case .orphaned, .finished:
        return nil
      }
    }
    guard let source else { return breakRing(of: released, waiters) }
    // The waiters attach before this one leaves, so that the source always has a
    // consumer.
    let isWanted = source.take(waiters, of: target)
    source.detach(.callback(self), cancelling: hadConsumer && !isWanted)
  }

  /// Breaks a cycle of orphans that wait for each other, if this orphan closed it.
  private func breakRing(of released: AnyFuture, _ waiters: WaiterList) {
    // No other thread reaches their lists any more.
    var held: [ForwardingWaiter] = []
    waiters.forEach { waiter in
      if case .callback(let callback) = waiter, let orphan = callback as? ForwardingWaiter {
        held.append(orphan)
      }
      return true
    }
    let ring = Self.holderLock.withLock { _ in
      for orphan in held { orphan.holder = self }
      var ring = [self]
      var seen: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
      while let next = ring.last?.holder {
        if next === self { return ring }
        guard seen.insert(ObjectIdentifier(next)).inserted else { break }
        ring.append(next)
      }
      return []
    }
    guard !ring.isEmpty else { return }
    // The futures of the cycle all have one type.
    WorkLoop.current.perform { _ in
      let broken = released.makeFailed(ProperationsError.cycle(createdAt: released.createdAt))
      for orphan in ring {
        let waiters = orphan.state.withLock { state -> WaiterList in
          guard case .orphaned(let waiters) = state else { return WaiterList() }
          state = .finished
          return waiters
        }
        broken.take(waiters)
      }
    }
  }
}

extension AnyFuture {
  /// Takes over the waiters of a released future.
  ///
  /// Returns whether any of them still wants the value.
  ///
  /// - Parameter released: The released future, if this one is pending.
  @discardableResult
  final func take(_ waiters: WaiterList, of released: FutureReference? = nil) -> Bool {
    // Inline closures run after all waiters have been taken, because one may wait for
    // another.
    var isWanted = false
    WorkLoop.current.perform { _ in isWanted = takeEach(waiters, of: released) }
    return isWanted
  }

  private final func takeEach(_ waiters: WaiterList, of released: FutureReference?) -> Bool {
    var waiters = waiters
    var isWanted = false
    while let waiter = waiters.popFirst() {
      switch waiter {
      case .future(let future):
        guard future.storage.wait(for: edge) else { continue }
        attach(waiter, isConsumer: !future.isPassive || future.storage.hasWaiters)
        // The future may have been cancelled between the two calls.
        if future.isSettled { detach(waiter, cancelling: false) } else { isWanted = true }
      case .callback(let callback):
        if !callback.isDone {
          callback.retarget(self)
          attach(waiter, isConsumer: callback.isConsumer)
          if callback.isDone { detach(waiter, cancelling: false) }
        }
        if callback.isConsumer, !callback.isDone || callback.hasMovedOn { isWanted = true }
      }
      // Another thread may have closed a cycle meanwhile without seeing this edge.
      guard released?.hidesEdges == true else { continue }
      for moved in waiter.downstreams
      where !moved.isSettled && !isSettled && Graph.closesCycle(moved, waitingFor: self) {
        moved.settle(
          failure: ProperationsError.cycle(createdAt: moved.createdAt), from: .upstream)
      }
    }
    return isWanted
  }
}
