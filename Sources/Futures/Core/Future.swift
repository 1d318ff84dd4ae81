import Foundation

/// A value that arrives later, or the error that arrives instead.
///
/// An asynchronous function returns a `Future`. Its caller says what happens next:
///
/// ```swift
/// func title(of url: URL) -> Future<String> {
///   fetch(url)
///     .compactMapToValue(on: .global()) { String(data: $0, encoding: .utf8) }
///     .recover { _ in "untitled" }
/// }
/// ```
///
/// A future settles exactly once, with a value or with an error, and keeps that result.
/// Each combinator makes a new future and leaves the original one unchanged. The closures
/// of a future run even if no variable holds it.
///
/// Parameters `fileID` and `line` record the place in the source; leave them out.
///
/// ## Where closures run
///
/// Closures run on the main queue, unless the call names a context
/// (``ExecutionContext``). Closures of calls without `on:` are main-actor isolated, so
/// user interface code needs no annotation. The calling thread does not run the closure
/// before the call returns, except `on: .inline`; another thread may. The closures of one
/// future that run on the same context run in the order of their attachment.
///
/// ## If the future never settles
///
/// A promise that is released unsettled fails with
/// ``ProperationsError/brokenPromise(createdAt:)``, which names the place where the
/// promise was made. A future that is derived from a promise, or depends on it, does not
/// keep the promise alive. So a producer that forgets its promise leaves no future
/// waiting for ever.
///
/// ## Cancelling
///
/// ``AnyFuture/cancel()`` settles a future at once, and every future downstream with it.
/// The future upstream is asked to cancel as soon as it has no other consumer. A closure
/// that throws Swift's `CancellationError` or ``ProperationsError/cancelled`` cancels the
/// future that it makes. The error of a cancelled future is
/// ``ProperationsError/cancelled``; `recover` and `mapError` pass it on.
///
/// If an operation queue's operations are cancelled, a handler that waits in the queue
/// does not run, and its future keeps its result. The closure of `always` runs even then.
///
/// ## As an operation
///
/// A future is an `Operation`. Other operations can depend on it, it has a completion
/// block, a thread can wait for it, and it can be put in a queue. It occupies no slot of
/// the queue before it has settled. You cannot construct a future; see ``Promise`` and
/// ``Promises``.
open class Future<Success: Sendable>: AnyFuture, @unchecked Sendable {
  // Sendable: the first settlement fills `room`, once, before the flag that lets other
  // threads read it.
  /// The value of a future that has succeeded.
  @exclusivity(unchecked) @usableFromInline final var room = ValueRoom()

  /// Makes a future that runs a closure in a context, or one without a closure, which its maker
  /// settles.
  @inlinable
  init(
    traits: Traits = [.mayBeReleasedPending], context: ContextReference = .inline,
    upstream: Upstream = .none, at birthplace: Birthplace, work: Work? = nil
  ) {
    super.init(
      traits: traits, context: context, upstream: upstream, work: work, at: birthplace)
  }

  /// Makes a future of a kind that another module defines.
  ///
  /// The future keeps `work` until `takeWork()` takes it or the future settles.
  package init(
    behaviour: any FutureBehaviour, upstream: AnyFuture? = nil, at birthplace: Birthplace,
    work: Work? = nil
  ) {
    super.init(
      traits: .mayBeReleasedPending, context: .inline,
      upstream: upstream.map { .future($0) } ?? .none, work: work, at: birthplace,
      behaviour: behaviour)
  }

  deinit {
    if hasSucceeded {
      room.deinitialize(as: Success.self)
    } else if !isSettled {
      releasedUnsettled()
    }
  }

  /// The result of a settled future, or `nil` while the future is pending.
  public final var result: FutureResult<Success>? { isSettled ? settledResult : nil }

  /// The result of a future that is known to have settled.
  @inline(__always)
  package final var settledResult: FutureResult<Success> {
    if let error = anyError { return .failure(error) }
    return .success(settledValue)
  }

  /// The value of a future that is known to have succeeded.
  @inlinable
  package final var settledValue: Success {
    precondition(hasSucceeded, "the future has not succeeded")
    return room.value(as: Success.self)
  }

  override final func makeFailed(_ error: any Error) -> AnyFuture {
    let future = Future<Success>(at: birthplace)
    future.settle(failure: error)
    return future
  }

  override var valueType: Any.Type { Success.self }

  // MARK: Settling

  /// Settles the future with a result.
  ///
  /// Returns `false`, and changes nothing, if the future had settled before.
  @discardableResult
  @inline(__always)
  package final func settle(
    _ result: FutureResult<Success>, from origin: SettlementOrigin = .outside
  ) -> Bool {
    switch result {
    case .success(let value): settle(success: value, from: origin)
    case .failure(let error): settle(failure: error, from: origin)
    }
  }

  /// Settles the future with a value.
  ///
  /// Returns `false` if the future had settled before.
  @discardableResult
  @inlinable
  package final func settle(
    success value: Success, from origin: SettlementOrigin = .outside
  ) -> Bool {
    settle(.success, from: origin) { room.initialize(to: value) }
  }

  override final func copyValue(of source: AnyFuture) {
    room.initialize(to: unsafeDowncast(source, to: Future<Success>.self).settledValue)
  }

  override final func observe(
    on context: ContextReference, at birthplace: Birthplace,
    _ handler: @escaping @Sendable ((any Error)?) -> Void
  ) {
    _ = Self.derived(
      from: self, traits: [.actsAlways, .isObserver], on: context, at: birthplace,
      work: Work { _, source in handler(source.anyError) })
  }

  // MARK: Being released unsettled

  private final func releasedUnsettled() {
    let (upstream, waiters) = storage.abandon()
    // If a context drops the continuation of a link, it breaks the link first. So a link
    // is never released unsettled. This future is a promise, or a future that stands for
    // another one. In the second case the other future takes over the waiters.
    if case .source(let source) = upstream, let link = source as? ForwardingWaiter {
      link.targetIsReleased(self, waiters: waiters)
      return
    }
    let isLazy = traits.contains(.startsWhenObserved)
    if isLazy { FlatRelease.release(takeWork()) }
    // Work that was never started breaks no promise, if no future waits for it.
    if !waiters.isEmpty || behaviour == nil && !isLazy { reportBrokenPromise() }
    guard !waiters.isEmpty else { return }
    // Another object replaces this one for the waiters, because this one is being
    // released. The other object has all waiters before it tells the first.
    WorkLoop.current.perform { _ in
      makeFailed(ProperationsError.brokenPromise(createdAt: createdAt)).ignoreFailure()
        .take(waiters)
    }
  }

  // MARK: Describing

  /// The name, the type, the state and the place of creation of the future.
  open override var debugDescription: String {
    // Not `result`: describing a future does not look at its failure.
    let state =
      if !isSettled {
        isExecuting || behaviour == nil && isRunning ? "executing" : "pending"
      } else if let error = unseenError {
        isCancelled ? "cancelled" : "failed: \(error)"
      } else {
        "succeeded"
      }
    let name = name.map { " \"\($0)\"" } ?? ""
    return "Future<\(Success.self)>\(name) (\(state)), created at "
      + "\(createdAt.fileID):\(createdAt.line)"
  }

  /// The same as ``debugDescription``.
  open override var description: String { debugDescription }
}
