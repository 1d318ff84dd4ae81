/// Stands between a future and the one that it will settle like.
///
/// `mapToFuture` and `fulfill(from:)` make a future wait for another one. The
/// waiter does not own it: if nobody else does either, it is released, and its
/// own waiters move on to the future it waited for. So a recursion through
/// `mapToFuture` or a million promises linked in a row stay flat: what is left
/// of each step is nothing.
///
///   root ◀── step 1 ◀── step 2 ◀── ...        while somebody holds the steps
///   root ◀─────────────────────── step n      when nobody does
///
/// Releasing and delivering can meet on two threads. Under the lock the first
/// decides:
///
///   waiting ── deliver ───────────────────────▶ finished
///      │  └─── deliver, the target is going ──▶ delivered(source): its release
///      │                                        gives the waiters to the source
///      ├────── release ───────────────────────▶ finished: the waiters have
///      │                                        gone to the source
///      └────── release, the source is going ──▶ orphaned(waiters): deliver
///                                               gives them on
final class ForwardingWaiter: CallbackWaiter, @unchecked Sendable {
  // Sendable: `state` has a lock, the rest never changes.
  private enum State {
    case waiting(source: Upstream)
    case delivered(AnyFuture)
    case orphaned(WaiterList)
    case finished
  }

  private let state = Lock<State>(.finished)
  private let target: FutureReference
  /// Whether the target waits for nothing else, which it would have to leave.
  private let isFirst: Bool
  /// A target that somebody relies on although nobody holds it.
  private let pinned = Lock<AnyFuture?>(nil)

  /// Makes `target` settle like `source`.
  ///
  /// The caller has stopped running it.
  static func link(_ target: AnyFuture, to source: AnyFuture) {
    let isFirst = if case .none = target.storage.upstream { true } else { false }
    let waiter = ForwardingWaiter(target, isFirst: isFirst)
    waiter.retarget(source)
    if isFirst {
      guard target.storage.wait(for: .source(waiter)) else {
        // Settled otherwise while its closure ran: nobody wants the source.
        target.finish(target.storage.closureReturned())
        source.cancelIfUnwanted()
        return
      }
      if target.isPinned { waiter.pin(target) }
    } else if !target.watch({ _ in waiter.withdraw(cancelling: true) }) {
      // (One more than it waits for already: whichever settles first.)
      return source.cancelIfUnwanted()
    }
    source.attach(.callback(waiter))
    if target.isSettled {
      waiter.withdraw(cancelling: !target.traits.contains(.isShielded))
    } else if target.storage.hasWaiters, source.descends(from: target) {
      // As if the source had said so: it must not be cancelled before it hears
      // of the cycle itself.
      target.settle(
        failure: ProperationsError.cycle(createdAt: target.createdAt), from: .upstream)
    }
  }

  private init(_ target: AnyFuture, isFirst: Bool) {
    self.target = target.reference
    self.isFirst = isFirst
  }

  override func pin(_ target: AnyFuture) {
    pinned.replace(with: target)
    // It may have settled just before.
    if isDone { unpin() }
  }

  private func unpin() {
    pinned.replace(with: nil)
  }

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

  override var inputs: [AnyFuture] {
    state.withLock { state in
      guard case .waiting(let source) = state else { return [] }
      return source.futures
    }
  }

  override func retarget(_ source: AnyFuture) {
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
    for future in inputs { future.detach(.callback(self), cancelling: cancelling) }
    unpin()
  }

  override func targetIsReleased(waiters: WaiterList) {
    let hadWaiters = !waiters.isEmpty
    let source: AnyFuture? = state.withLock { state in
      switch state {
      case .waiting(let edge):
        guard let future = edge.futures.first else {
          state = .orphaned(waiters)
          return nil
        }
        state = .finished
        return future
      case .delivered(let future):
        state = .finished
        return future
      case .orphaned, .finished:
        return nil
      }
    }
    guard let source else { return }
    // Those who wait come in before the waiter goes: the source must not
    // think that nobody wants it.
    let isWanted = source.take(waiters)
    source.detach(.callback(self), cancelling: hadWaiters && !isWanted)
  }
}

extension Upstream {
  /// The futures waited for, as far as they still exist.
  var futures: [AnyFuture] {
    switch self {
    case .none: []
    case .future(let future): [future]
    case .reference(let reference): reference.future.map { [$0] } ?? []
    case .source(let source): source.inputs
    }
  }
}

extension AnyFuture {
  /// Whether this future waits, through however many others, for `ancestor`.
  final func descends(from ancestor: AnyFuture) -> Bool {
    self === ancestor || upstreamContains { $0 === ancestor }
  }

  /// Whether any future that this one waits for, directly or not, is such.
  final func upstreamContains(_ isSuch: (AnyFuture) -> Bool) -> Bool {
    var stack = futuresWaitedFor
    if stack.allSatisfy(\.isSettled) { return false }
    var seen: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
    while let future = stack.popLast() {
      guard !future.isSettled, seen.insert(ObjectIdentifier(future)).inserted else { continue }
      if isSuch(future) { return true }
      stack.append(contentsOf: future.futuresWaitedFor)
    }
    return false
  }

  /// What is upstream, and what it depends on.
  package final var futuresWaitedFor: [AnyFuture] {
    if let behaviour {
      let awaited = behaviour.awaited(by: self)
      return awaited.isEmpty ? storage.upstream.futures : storage.upstream.futures + awaited
    }
    return hasDependencies
      ? storage.upstream.futures + dependencies.compactMap { $0 as? AnyFuture }
      : storage.upstream.futures
  }

  /// Cancels a future that somebody made and nobody took.
  final func cancelIfUnwanted() {
    if !storage.isWanted { cancel() }
  }
}
