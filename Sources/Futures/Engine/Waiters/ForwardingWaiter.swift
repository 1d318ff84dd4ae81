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
///      ├────── the target settles otherwise ──────▶ finished
///      ├────── release ───────────────────────────▶ moved: the waiters go to
///      │                                            the source
///      └────── release while the source is ───────▶ orphaned(waiters): they go to
///              released                             the future that takes the
///                                                   source's place
///
/// A waiter that moves from a released future to its source leaves no gap for a
/// cancellation:
///
/// - The link of the released future stays in the source's list as a consumer until all
///   others have been attached.
/// - A forwarding waiter attaches to the source before it points at it. So a thread that
///   finds the new edge finds the waiter in the list, too.
/// - A thread that finds the old edge finds no future. The thread that moves the waiter
///   then sees that the waiter is done.
///
/// When several threads at once release a cycle of linked promises, each orphan waits in
/// the list of another one. The last orphan detects the cycle and breaks all of them.
final class ForwardingWaiter: CallbackWaiter, @unchecked Sendable {
  // Sendable: `state` and `pinned` have locks, the rest never changes.
  private enum State {
    case waiting(source: Upstream)
    case delivered(AnyFuture)
    case orphaned(WaiterList)
    case moved
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
  /// Whether the waiters of this orphan have gone to another future.
  ///
  /// Guarded by `holderLock`.
  private var isEmptied = false

  /// Makes `target` settle like `source`.
  ///
  /// If `target` has a closure, that closure has returned.
  static func link(_ target: AnyFuture, to source: AnyFuture) {
    var waiter = ForwardingWaiter(target, source, isFirst: true)
    let keys = target.willWait()
    let isWaiting = target.storage.beginWaiting(for: .source(waiter))
    target.didChange(keys)
    switch isWaiting {
    case true?:
      if target.isPinned { waiter.pin(target) }
    case false?:
      // The target has settled in another way while its closure ran.
      target.closureHasReturned()
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
    if target.isSettled {
      let cancelling = !target.traits.contains(.isShielded)
      waiter.withdraw(cancelling: cancelling)
      // Another thread may have withdrawn the waiter before it was attached.
      source.detach(.callback(waiter), cancelling: cancelling)
    } else if Graph.closesCycle(target, waitingFor: source) {
      // The origin is `upstream`, because the target must not cancel the source. The
      // source fails with the same cycle.
      target.settle(
        failure: ProperationsError.cycle(createdAt: target.createdAt), from: .upstream)
      waiter.withdraw(cancelling: false)
    } else {
      // Only now: a watch walks upstream, and would never leave a cycle.
      target.wakeProgressWatches()
    }
  }

  private init(_ target: AnyFuture, _ source: AnyFuture, isFirst: Bool) {
    self.target = target.reference
    self.isFirst = isFirst
    super.init()
    state.replace(with: .waiting(source: source.edge))
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
    return state.withLock { if case .finished = $0 { true } else { false } }
  }

  override var downstreams: [AnyFuture] { target.futureInGraph.map { [$0] } ?? [] }

  override var upstreams: [AnyFuture] {
    let edge: Upstream = state.withLock {
      if case .waiting(let source) = $0 { source } else { .none }
    }
    return edge.futures
  }

  override var progressParts: ProgressParts? { ProgressParts(upstreams) }

  override func move(to source: AnyFuture) -> Move {
    Self.holderLock.withLock { _ in holder = nil }
    if isDone { return .done }
    if let orphans = takeOrphans() { return .replaced(by: orphans) }
    source.attach(.callback(self))
    if let orphans = point(at: source) {
      source.detach(.callback(self), cancelling: false)
      return .replaced(by: orphans)
    }
    // If the target is being released, its thread moves its waiters and then removes this
    // one.
    guard isDone else { return .wanted }
    source.detach(.callback(self), cancelling: false)
    return .done
  }

  /// Points a waiter at another source.
  ///
  /// Returns the waiters of an orphan, which points at none.
  private func point(at source: AnyFuture) -> WaiterList? {
    let edge = source.edge
    let last = state.withLock { state -> State? in
      guard case .waiting = state else { return nil }
      defer { state = .waiting(source: edge) }
      return state
    }
    // Released after unlock.
    withExtendedLifetime(last) {}
    return last == nil ? takeOrphans() : nil
  }

  /// Returns the waiters of an orphan; `nil` if this is none.
  ///
  /// - Parameter other: The state that this waiter gets if it is no orphan; `nil` for no change.
  private func takeOrphans(orBecome other: State? = nil) -> WaiterList? {
    let orphans = state.withLock { state -> WaiterList? in
      guard case .orphaned(let waiters) = state else {
        if let other { state = other }
        return nil
      }
      state = .moved
      return waiters
    }
    if orphans != nil { Self.holderLock.withLock { _ in isEmptied = true } }
    return orphans
  }

  override func deliver(_ source: AnyFuture) {
    guard let future = target.future else {
      if let orphans = takeOrphans(orBecome: .delivered(source)) { source.take(orphans) }
      return
    }
    state.replace(with: .finished)
    unpin()
    future.settle(like: source, from: isFirst ? .upstream : .outside)
  }

  override func withdraw(cancelling: Bool) {
    // The target may be released before a thread that moves this waiter looks at it.
    let edge = state.withLock { state -> Upstream in
      guard case .waiting(let edge) = state else { return .none }
      state = .finished
      return edge
    }
    for future in edge.futures { future.detach(.callback(self), cancelling: cancelling) }
    unpin()
  }

  /// Moves the waiters of a target that is released unsettled to the source.
  func targetIsReleased(_ released: AnyFuture, waiters: WaiterList) {
    var (hadConsumer, links) = (false, [ForwardingWaiter]())
    // Another thread may reach the list of an orphan, so it is read before.
    waiters.forEach { waiter in
      hadConsumer = hadConsumer || waiter.isConsumer
      if case .callback(let callback) = waiter, let link = callback as? ForwardingWaiter {
        links.append(link)
      }
      return true
    }
    guard let source = takeSource(leaving: waiters) else { return breakRing(of: released, links) }
    // The waiters attach before this one leaves, so that the source always has a
    // consumer. If one of them was cancelled meanwhile, the last to leave cancels the
    // source.
    let isWanted = source.take(waiters, of: target)
    source.detach(
      .callback(self), cancelling: hadConsumer && !isWanted, isGivingUp: hadConsumer)
  }

  /// Returns the future that the waiters of a released target go to.
  ///
  /// If that one is being released too, keeps the waiters until it has moved its own, and
  /// returns `nil`.
  private func takeSource(leaving waiters: WaiterList) -> AnyFuture? {
    while true {
      let edge: Upstream? = state.withLock {
        if case .waiting(let edge) = $0 { edge } else { nil }
      }
      let awaited = edge?.future
      let (source, isDecided) = state.withLock { state -> (AnyFuture?, Bool) in
        switch state {
        case .waiting(let current):
          if let awaited {
            state = .moved
            return (awaited, true)
          }
          // This waiter may have moved to another source meanwhile. An edge to a future either
          // owns it, and has found it, or is a reference.
          guard case .reference(let now) = current, case .reference(let seen)? = edge, now === seen
          else { return (nil, false) }
          state = .orphaned(waiters)
          return (nil, true)
        case .delivered(let future):
          state = .moved
          return (future, true)
        case .orphaned, .moved, .finished:
          return (nil, true)
        }
      }
      if isDecided { return source }
    }
  }

  /// Breaks a cycle of orphans that wait for each other, if this orphan closed it.
  ///
  /// - Parameter held: The forwarding waiters among the waiters of this orphan.
  private func breakRing(of released: AnyFuture, _ held: [ForwardingWaiter]) {
    let ring = Self.holderLock.withLock { _ -> [ForwardingWaiter] in
      if isEmptied { return [] }
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
        if let waiters = orphan.takeOrphans() { broken.take(waiters) }
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
    var mayCloseCycle = false
    while let waiter = waiters.popFirst() {
      switch waiter {
      case .future(let future):
        if future.storage.wait(for: edge) {
          attach(waiter, isConsumer: !future.isPassive || future.storage.isWanted)
          future.takeRole()
        }
        // The future may have been cancelled, also between the two calls.
        if future.isSettled { detach(waiter, cancelling: false) }
        if future.isPassive {
          if future.storage.isWanted { isWanted = true }
        } else if !future.isSettled || future.traits.contains(.isShielded) {
          isWanted = true
        }
      case .callback(let callback):
        switch callback.move(to: self) {
        case .done: continue
        case .wanted: if callback.isConsumer { isWanted = true }
        case .replaced(var orphans):
          orphans.append(waiters)
          waiters = orphans
          mayCloseCycle = released != nil
          continue
        }
      }
      // Another thread may have closed a cycle meanwhile without seeing this edge.
      guard mayCloseCycle || released?.hidesEdges == true else { continue }
      for moved in waiter.downstreams
      where !moved.isSettled && !isSettled && Graph.closesCycle(moved, waitingFor: self) {
        moved.settle(
          failure: ProperationsError.cycle(createdAt: moved.createdAt), from: .upstream)
      }
    }
    return isWanted
  }
}
