// What happens after a future has settled: saying so, running handlers, handing
// those who wait to their contexts. Called by the drain; never under a lock.

extension AnyFuture {
  /// Does what settling asks for.
  ///
  /// Called by the drain only, once: any thread, no lock held.
  @inline(__always)
  final func deliver(in drain: Drain, mayTakeTurn: Bool) {
    if let behaviour, !behaviour.mayDeliver(self, in: drain) { return }
    var settlement = storage.deliver()
    finish(settlement.finish)
    if settlement.leavesUpstream { leave(settlement.upstream) }
    if !settlement.handlers.isEmpty { tell(settlement.handlers, settlement.outcome, in: drain) }
    if traits.contains(.isObserver), let handler = settlement.work,
      traits.acts(on: settlement.outcome)
    {
      schedule(
        Job(future: self, source: self, handler: handler), on: settlement.context, after: self,
        in: drain, mayTakeTurn: mayTakeTurn)
    }
    var waiters = settlement.waiters.take()
    while !waiters.isEmpty {
      while let waiter = waiters.popFirst() {
        switch consume waiter {
        case .callback(let callback):
          callback.deliver(self)
        case .future(let future):
          if future.runsAtOnce(after: settlement.outcome) {
            // (It moves into its job: handing it on would count it once more.)
            drain.runInline(Job(future: consume future, source: self, handler: nil))
          } else {
            future.upstreamHasSettled(self, settlement.outcome, in: drain, mayTakeTurn: mayTakeTurn)
          }
        }
      }
      guard settlement.mayOthersCome else { return }
      waiters = storage.takeLateWaiters()
    }
  }

  private final func tell(
    _ handlers: HandlerList, _ outcome: Outcome, in drain: Drain
  ) {
    handlers.forEach { handler in
      if handler.onlyOnCancellation, outcome != .cancelled { return }
      if handler.isUserCode {
        drain.callInline { handler.body(self) }
      } else {
        handler.body(self)
      }
    }
  }

  /// Whether the future's closure is to run where the one waited for has settled,
  /// and nothing else is to be done first: the short way through
  /// `upstreamHasSettled`.
  @inline(__always)
  fileprivate final func runsAtOnce(after outcome: Outcome) -> Bool {
    traits.contains(.runsInline) && behaviour == nil && !traits.contains(.isObserver)
      && traits.acts(on: outcome) && !hasDependencies
  }

  /// The future waited for has settled: run the closure, or pass on what it
  /// would not want.
  @inline(__always)
  final func upstreamHasSettled(
    _ source: AnyFuture, _ outcome: Outcome, in drain: Drain, mayTakeTurn: Bool
  ) {
    if let behaviour {
      behaviour.upstreamHasSettled(self, source, in: drain, mayTakeTurn: mayTakeTurn)
      return
    }
    if !traits.acts(on: outcome) {
      settle(like: source, from: .upstream)
      return
    }
    if traits.contains(.isObserver) {
      // The handler takes its place among its neighbours' closures here, not
      // when the observer's own settlement is delivered.
      if settle(like: source, from: .upstream), let (handler, context) = storage.takeHandler() {
        schedule(
          Job(future: self, source: self, handler: handler), on: context, after: source,
          in: drain, mayTakeTurn: mayTakeTurn)
      }
      return
    }
    schedule(
      Job(future: self, source: source, handler: nil),
      on: traits.contains(.runsInline) ? .inline : storage.context, after: source, in: drain,
      mayTakeTurn: mayTakeTurn)
  }

  @inline(__always)
  fileprivate final func schedule(
    _ job: @autoclosure () -> Job, on context: ContextReference, after source: AnyFuture,
    in drain: Drain, mayTakeTurn: Bool
  ) {
    if hasDependencies, holdForDependencies(job(), on: context) { return }
    if case .custom = context { source.storage.deliver(by: drain) }
    if mayTakeTurn, drain.takeTurn(job(), on: context) { return }
    job().handOff(to: context, in: drain)
  }

  /// Starts a future that has a closure and waits for nobody.
  final func scheduleFirst() {
    let job = Job(future: self, source: self, handler: nil)
    let context = storage.context
    if case .inline = context { return Drain.current.runInline(job) }
    job.handOff(to: context, in: Drain.current)
  }

  /// Runs the closure, if there is still something to run.
  @inline(__always)
  final func runWork(_ source: AnyFuture) {
    if let behaviour { return behaviour.run(self, after: source) }
    guard let work = storage.run() else { return }
    work.body(self, source)
  }
}
