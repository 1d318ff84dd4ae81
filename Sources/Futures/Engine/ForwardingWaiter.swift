/// Stands between two futures: the *target* settles like the *source*.
///
/// `mapToFuture` and `fulfill(from:)` make a target wait for a source. The
/// waiter does not own the target. If nothing else does either, the target is
/// released, and its own waiters move on to the source. So a recursion through
/// `mapToFuture`, or a million promises linked in a row, stay flat: no object of a
/// step remains.
///
///   root ◀── step 1 ◀── step 2 ◀── ...        while other objects hold the steps
///   root ◀─────────────────────── step n      when they are released
///
/// Releasing and delivering can meet on two threads. Under the lock the first
/// decides:
///
///   waiting ── deliver ───────────────────────▶ finished
///      │  └─── deliver, the target is going ──▶ delivered(source): the target's
///      │                                        release gives its waiters to
///      │                                        the source
///      ├────── release ───────────────────────▶ finished: the waiters have
///      │                                        gone to the source
///      └────── release, the source is going ──▶ orphaned(waiters): deliver
///                                               gives them to the future that
///                                               takes the source's place
///
/// Where a ring of linked promises is released from several threads at once, each
/// orphan waits in the list of another one. The last of them sees that, and breaks
/// them all.
final class ForwardingWaiter: CallbackWaiter, @unchecked Sendable {
  // Sendable: `state` and `pinned` have locks, the rest never changes.
  private enum State {
    case waiting(source: Upstream)
    case delivered(AnyFuture)
    case orphaned(WaiterList)
    case finished
  }

  /// Guards the holders of all orphans.
  private static let orphanage = Lock(())

  private let state = Lock<State>(.finished)
  private let target: FutureReference
  /// Whether the target waits for nothing else, which it would have to leave.
  private let isFirst: Bool
  /// The target, if it has to settle although no other object holds it.
  private let pinned = Lock<AnyFuture?>(nil)
  /// The orphan in whose list this one waits; guarded by `orphanage`.
  private weak var holder: ForwardingWaiter?

  /// Makes `target` settle like `source`.
  ///
  /// The closure of `target`, if it has one, has returned.
  static func link(_ target: AnyFuture, to source: AnyFuture) {
    var waiter = ForwardingWaiter(target, source, isFirst: true)
    switch target.storage.beginWaiting(for: .source(waiter)) {
    case true?:
      if target.isPinned { waiter.pin(target) }
    case false?:
      // The target has settled otherwise while its closure ran.
      target.finish(target.storage.closureReturned())
      return source.cancelIfUnwanted()
    case nil:
      // (The target waits for another future already: the first to settle wins.)
      let second = ForwardingWaiter(target, source, isFirst: false)
      guard target.watch({ _ in second.withdraw(cancelling: true) }) else {
        return source.cancelIfUnwanted()
      }
      waiter = second
    }
    source.attach(.callback(waiter))
    if target.isSettled {
      waiter.withdraw(cancelling: !target.traits.contains(.isShielded))
    } else if Graph.closesCycle(target, waitingFor: source) {
      // With the origin `upstream`, so that the target does not cancel the source,
      // which fails with the cycle too.
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
    // It may have settled just before.
    if isDone { unpin() }
  }

  private func unpin() { pinned.replace(with: nil) }

  /// A target that is just being released is not done: its waiters are on
  /// their way.
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

  override func retarget(_ source: AnyFuture) {
    Self.orphanage.withLock { _ in holder = nil }
    point(at: source)
  }

  private func point(at source: AnyFuture) {
    let edge = source.edge
    let last = state.withLock { state -> State? in
      // Orphans stay here, and are passed on when the new source settles.
      if case .orphaned = state { return nil }
      defer { state = .waiting(source: edge) }
      return state
    }
    // Released after the lock.
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

  /// The target is being released unsettled.
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

  /// Breaks the orphans that wait for each other, if this one was the last of a
  /// ring.
  private func breakRing(of released: AnyFuture, _ waiters: WaiterList) {
    // (Their lists are not reached by any other thread any more.)
    var held: [ForwardingWaiter] = []
    waiters.forEach { waiter in
      if case .callback(let callback) = waiter, let orphan = callback as? ForwardingWaiter {
        held.append(orphan)
      }
      return true
    }
    let ring = Self.orphanage.withLock { _ in
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
    // (The futures of a ring are all of one type.)
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
  /// `true` if any of them still wants the value.
  ///
  /// - Parameter released: The released future, if this one is pending.
  @discardableResult
  final func take(_ waiters: WaiterList, of released: FutureReference? = nil) -> Bool {
    // (Inline closures wait until all have been taken: one may wait for another.)
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
        // It may have been cancelled between the two.
        if future.isSettled { detach(waiter, cancelling: false) } else { isWanted = true }
      case .callback(let callback):
        if !callback.isDone {
          callback.retarget(self)
          attach(waiter, isConsumer: callback.isConsumer)
          if callback.isDone { detach(waiter, cancelling: false) }
        }
        if callback.isConsumer, !callback.isDone || callback.hasMovedOn { isWanted = true }
      }
      // Another thread may have closed a cycle meanwhile, and not have seen it.
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
