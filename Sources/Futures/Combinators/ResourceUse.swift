/// Tracks the two conditions for releasing a resource: it was acquired, and its use has
/// ended.
///
///   nothing ── acquired ──▶ in use ── useEnded ──▶ releasable ── take ──▶ over
///      └────── useEnded ──▶ abandoned ── acquired ──▶ releasable
struct ResourceState<Resource> {
  private var resource: Resource?
  private var isAcquisitionOver = false
  private var isUseOver = false

  /// The resource was acquired, or never will be; returns whether both conditions hold.
  mutating func acquired(_ resource: Resource?) -> Bool {
    self.resource = resource
    isAcquisitionOver = true
    return isUseOver
  }

  /// The use has ended, or never will begin; returns whether both conditions hold.
  mutating func useEnded() -> Bool {
    isUseOver = true
    return isAcquisitionOver
  }

  /// Takes the resource if it is releasable; otherwise `nil`.
  mutating func take() -> Resource? {
    isUseOver && isAcquisitionOver ? resource.take() : nil
  }
}

/// One use of a resource.
///
///   resource ──▶ use (runs the closure) ──▶ gate ──▶ result (runs the release)
///
/// The *use* is a future that settles like the future that the closure returns. The *gate*
/// settles like the use when the use has ended. Then the closure of the *result* releases
/// the resource. If the result is cancelled before the use has ended, its closure runs too
/// early. Then a separate closure releases the resource.
final class ResourceUse<Resource: Sendable, Success: Sendable>: CallbackWaiter,
  @unchecked Sendable
{
  // Sendable: `state`, `inner`, `edge` and `ended` have locks; `result` is written before
  // the object is shared; the rest never changes.
  private let state = Lock(ResourceState<Resource>())
  /// An edge to the future that the closure has returned; it does not keep a promise alive.
  private let inner = Lock<Upstream>(.none)
  /// The use, until it has ended.
  private let edge = Lock<Upstream>(.none)
  /// The use, after it has ended.
  private let ended = Lock<Future<Success>?>(nil)
  private let gate: Future<Success>
  private var result: FutureReference?
  private let releaseContext: ContextReference
  private let release: @Sendable (Resource) -> Void

  static func start(
    of resource: Future<Resource>, shielding: Bool = false, on context: ContextReference,
    releasingOn releaseContext: ContextReference, at birthplace: Birthplace,
    release: @escaping @Sendable (Resource) -> Void,
    _ body: @escaping @Sendable (Resource) throws -> Future<Success>
  ) -> Future<Success> {
    let gate = Future<Success>(traits: [], at: birthplace)
    let owner = ResourceUse(gate, releasingOn: releaseContext, release)
    _ = gate.storage.wait(for: .source(owner))
    let result = gate.finally(on: releaseContext, at: birthplace) { done in
      owner.releaseResource()
      done()
    }
    owner.result = result.reference
    // The watcher comes before the use in the resource's list, so the watcher is called
    // first.
    owner.watchAcquisition(of: resource)
    let source = shielding ? resource.passedThrough(.isShielded, at: birthplace) : resource
    let use = source.flattened(.actsOnSuccess, on: context, at: birthplace) { result in
      let future = try body(result.get())
      owner.inner.replace(with: future.edge)
      return future
    }
    owner.watch(use)
    return result
  }

  private init(
    _ gate: Future<Success>, releasingOn context: ContextReference,
    _ release: @escaping @Sendable (Resource) -> Void
  ) {
    self.gate = gate
    self.release = CarriedTaskLocals.bind(release)
    releaseContext = context
  }

  private func watchAcquisition(of future: Future<Resource>) {
    let isPending = future.watch { [self] source in
      acquired(unsafeDowncast(source, to: Future<Resource>.self))
    }
    if !isPending { acquired(future) }
  }

  private func acquired(_ future: Future<Resource>) {
    let resource = future.settledResult.successValue
    if state.withLock({ $0.acquired(resource) }) { finish() }
  }

  private func watch(_ use: Future<Success>) {
    edge.replace(with: .future(use))
    // The gate is a consumer of the use, so a cancelled gate cancels the use.
    use.attach(.callback(self))
    let isPending = use.watch(.finished) { [self] source in
      useHasFinished(unsafeDowncast(source, to: Future<Success>.self))
    }
    if !isPending { useHasFinished(use) }
  }

  /// The closure has returned, and the use has settled.
  private func useHasFinished(_ use: Future<Success>) {
    ended.replace(with: use)
    edge.replace(with: .none)
    let end: @Sendable (AnyFuture) -> Void = { [self] _ in
      if state.withLock({ $0.useEnded() }) { finish() }
    }
    let inner = inner.exchange(for: .none).future
    // A future that waits for the result finishes after it, and the use has failed because
    // of this cycle.
    if let inner, !Graph.closesCycle(gate, waitingFor: inner), inner.watch(.finished, end) {
      return
    }
    end(use)
  }

  /// Both conditions hold: the resource can be released.
  private func finish() {
    // If the result is cancelled after this check, its closure finds the resource
    // releasable.
    let isResultPending = result?.future?.isSettled == false
    if let use = ended.withLock({ $0 }), gate.settle(like: use, from: .upstream),
      isResultPending
    {
      return
    }
    let cleanup = Continuation(
      gate, reading: gate, .cleanup(Work { [self] _, _ in releaseResource() }))
    WorkLoop.current.perform { $0.handOff(cleanup, to: releaseContext) }
  }

  private func releaseResource() {
    if let resource = state.withLock({ $0.take() }) { release(resource) }
  }

  override func withdraw(cancelling: Bool) {
    edge.withLock { $0 }.future?.detach(.callback(self), cancelling: cancelling)
  }

  override var progressParts: ProgressParts? { ProgressParts(upstreams) }

  override var isDone: Bool { gate.isSettled }
  override var upstreams: [AnyFuture] { edge.withLock { $0 }.futures }
  override var downstreams: [AnyFuture] { [gate] }
}
