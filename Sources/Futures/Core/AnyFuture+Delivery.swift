// The delivery of a settlement: posting it, telling the waiters, handing
// continuations to their contexts. Called by the work loop, with no lock held.

extension AnyFuture {
  /// Performs the delivery.
  ///
  /// Only the work loop calls it, once, on any thread.
  ///
  /// - Returns: The settlement, which the work loop releases. `nil` if the future's
  ///   behaviour holds the delivery back.
  @inline(__always)
  final func deliver(in loop: WorkLoop) -> Settlement? {
    if let behaviour, !behaviour.mayDeliver(self, in: loop) { return nil }
    var settlement = storage.deliver()
    finish(settlement.finish, announced: [.isFinished, .isReady])
    if settlement.leavesUpstream { leave(settlement.upstream) }
    if traits.contains(.isObserver), let handler = settlement.work,
      traits.acts(on: settlement.outcome)
    {
      schedule(
        Continuation(self, reading: self, .handler(handler)), on: settlement.context, in: loop)
    }
    var waiters = settlement.waiters.take()
    if settlement.mayOthersCome {
      loop.tell(waiters, of: self, settlement.outcome)
    } else if let waiter = waiters.popFirst() {
      // The short way, for a chain of inline links.
      if settlement.outcome == .failure { noteLook(by: waiter) }
      if case .future(let future) = consume waiter {
        if future.runsAtOnce(after: settlement.outcome) {
          // The future moves into its continuation. Copying it would retain it once more.
          loop.runInline(Continuation(consume future, reading: self))
        } else {
          settlement.rest = tellFuture(consume future, settlement.outcome, in: loop)
        }
      }
    }
    return settlement
  }

  /// Tells a waiter.
  ///
  /// Returns the object that the work loop releases.
  @inline(__always)
  final func tell(
    _ waiter: consuming Waiter, _ outcome: Outcome, in loop: WorkLoop
  ) -> Waiter? {
    if outcome == .failure { noteLook(by: waiter) }
    switch consume waiter {
    case .callback(let callback):
      if callback.waitsForFinish, !isFinished {
        uses.bitwiseOr(Self.hasFinishWaiters, ordering: .sequentiallyConsistent)
        if storage.keepUntilFinish(.callback(callback)) { return nil }
      }
      callback.deliver(self)
      return .callback(callback)
    case .future(let future):
      return tellFuture(consume future, outcome, in: loop)
    }
  }

  private final func tellFuture(
    _ future: consuming AnyFuture, _ outcome: Outcome, in loop: WorkLoop
  ) -> Waiter? {
    // If its maker dropped an observer at once, only the list holds it. Then only its
    // handler matters, and the continuation does not keep the observer. The observer
    // settles all the same, because another thread may read it through a weak reference.
    if future.traits.contains(.isObserver), isKnownUniquelyReferenced(&future),
      !future.isObservedByKey,
      future.uses.load(ordering: .acquiring) == 0,
      uses.load(ordering: .acquiring) & (Self.hasScheduling | Self.hasDependencies) == 0,
      let (handler, context, _) = future.storage.settleUnseen(
        outcome, isActing: future.traits.acts(on: outcome),
        storing: { future.copyResult(of: self) })
    {
      if !isKnownUniquelyReferenced(&future) { future.postFinished() }
      if let handler {
        loop.pass(
          Continuation(self, reading: self, .handler(handler)), to: context)
      }
      return .future(future)
    }
    future.upstreamHasSettled(self, outcome, in: loop)
    return .future(future)
  }

  /// Whether the future's closure runs where the future upstream has settled, and has to
  /// wait for nothing else.
  ///
  /// It is the short way through `upstreamHasSettled`.
  @inline(__always)
  fileprivate final func runsAtOnce(after outcome: Outcome) -> Bool {
    traits.contains(.runsInline) && behaviour == nil && !traits.contains(.isObserver)
      && traits.acts(on: outcome) && !hasDependencies
  }

  /// Schedules the closure after the future upstream has settled, or passes on an outcome
  /// that the closure does not act on.
  @inline(__always)
  final func upstreamHasSettled(_ source: AnyFuture, _ outcome: Outcome, in loop: WorkLoop) {
    if let behaviour {
      behaviour.sourceHasSettled(self, source, as: .upstream)
      return
    }
    if !traits.acts(on: outcome) {
      settle(like: source, from: .upstream)
      return
    }
    if traits.contains(.isObserver) {
      // The handler gets its place in the order of its neighbours' closures here, not
      // when the observer's own settlement is delivered.
      if settle(like: source, from: .upstream), let (handler, context) = storage.takeWork() {
        schedule(Continuation(self, reading: self, .handler(handler)), on: context, in: loop)
      }
      return
    }
    schedule(
      Continuation(self, reading: source),
      on: traits.contains(.runsInline) ? .inline : storage.context, in: loop)
  }

  /// Hands a continuation to its context after the dependencies have finished.
  @inline(__always)
  private final func schedule(
    _ continuation: Continuation, on context: ContextReference, in loop: WorkLoop
  ) {
    if hasDependencies, holdForDependencies(continuation, on: context) { return }
    loop.pass(continuation, to: context)
  }

  /// Schedules the closure of a future that has no upstream.
  final func scheduleFirst() {
    let context = storage.context
    WorkLoop.current.perform { $0.handOff(Continuation(self, reading: self), to: context) }
  }

  /// Runs the closure, unless the future has settled in another way.
  @inline(__always)
  final func runWork(reading source: AnyFuture) {
    if let behaviour { return behaviour.run(self, after: source) }
    let keys = willRun()
    let run = storage.run()
    didChange(keys)
    guard let (work, _) = run else { return }
    work.body(self, source)
  }
}
