/// What has to happen before a resource is released: it has come, and its use has ended.
///
///   nothing ── acquired ──▶ in use ── useEnded ──▶ to be released ── take ──▶ over
///      └────── useEnded ──▶ abandoned ── acquired ──▶ to be released
struct ResourceState<Resource> {
  private var resource: Resource?
  private var isAcquisitionOver = false
  private var isUseOver = false

  /// The resource has come, or will not come; returns whether both have happened.
  mutating func acquired(_ resource: Resource?) -> Bool {
    self.resource = resource
    isAcquisitionOver = true
    return isUseOver
  }

  /// The use has ended, or will not begin; returns whether both have happened.
  mutating func useEnded() -> Bool {
    isUseOver = true
    return isAcquisitionOver
  }

  /// Takes the resource to be released; `nil` if it is in use, or was taken.
  mutating func take() -> Resource? {
    isUseOver && isAcquisitionOver ? resource.take() : nil
  }
}

/// One use of a resource.
///
///   resource ──▶ use (runs the closure) ──▶ gate ──▶ result (runs the release)
///
/// The *use* is a future that settles like the one that the closure returns. The *gate*
/// settles like the use when that has ended, so that the closure of the *result* releases
/// the resource. A result that is cancelled has run its closure before the use has ended;
/// then the resource is released by a closure of its own.
final class ResourceUse<Resource: Sendable, Success: Sendable>: CallbackWaiter,
  @unchecked Sendable
{
  // Sendable: `state`, `inner`, `edge` and `ended` have locks; `result` is written before
  // the object is shared; the rest never changes.
  private let state = Lock(ResourceState<Resource>())
  /// The future that the closure has returned, which is not kept if it is a promise.
  private let inner = Lock<Upstream>(.none)
  /// The use, until it has ended.
  private let edge = Lock<Upstream>(.none)
  /// The use, when it has ended.
  private let ended = Lock<Future<Success>?>(nil)
  private let gate: Future<Success>
  private var result: FutureReference?
  private let releaseContext: ContextReference
  private let release: @Sendable (Resource) -> Void

  static func start(
    of resource: Future<Resource>, on context: ContextReference,
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
    // (The watcher comes before the use in the resource's list, so it is told first.)
    owner.watchAcquisition(of: resource)
    let use = resource.flattened(.actsOnSuccess, on: context, at: birthplace) { result in
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
    self.release = release
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
    // As a consumer of the use, the gate cancels it when it is cancelled itself.
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
    let inner = inner.withLock { $0 }.future
    self.inner.replace(with: .none)
    if inner?.watch(.finished, end) != true { end(use) }
  }

  /// The resource has come, and its use has ended.
  private func finish() {
    // (A result that is cancelled after this look finds the resource to be released.)
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

  override var isDone: Bool { gate.isSettled }
  override var upstreams: [AnyFuture] { edge.withLock { $0 }.futures }
  override var downstreams: [AnyFuture] { [gate] }
}
