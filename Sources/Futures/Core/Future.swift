import Foundation

/// A value that will be there at some time, or the error that came instead.
///
/// A function that works asynchronously returns a `Future`; its caller says what
/// happens next:
///
/// ```swift
/// func title(of url: URL) -> Future<String> {
///   fetch(url)
///     .compactMapToValue(on: .global()) { String(data: $0, encoding: .utf8) }
///     .recover { _ in "untitled" }
/// }
/// ```
///
/// A future settles exactly once, with a value or with an error, and keeps
/// that result. Each combinator makes a new future; none changes the one it is
/// called on. The closures of a future run even if no variable holds it.
///
/// ## Where closures run
///
/// On the main queue, unless the call names a context (``ExecutionContext``).
/// Closures of calls without `on:` are main-actor isolated, so that interface
/// code needs no annotation. The thread that makes the call does not run the
/// closure before the call returns, except `on: .inline`; another thread may.
/// Closures attached to one future run in the order of their attachment, context
/// by context.
///
/// ## What happens if it is never fulfilled
///
/// A promise that is released unsettled fails with
/// ``ProperationsError/brokenPromise(createdAt:)``, which names the place
/// where it was made. A future that is derived from a promise, or depends on it,
/// does not keep it alive, so nothing waits for ever because a producer forgot.
///
/// ## Cancelling
///
/// ``AnyFuture/cancel()`` settles a future at once, and everything below it
/// with it. The future upstream is asked to cancel as soon as it has no other
/// consumer. A closure that throws Swift's `CancellationError`, or
/// ``ProperationsError/cancelled``, cancels the future that it makes: the error
/// of that future is ``ProperationsError/cancelled``, and `recover` and
/// `mapError` let it pass.
///
/// A handler that waits in an operation queue when the queue's operations are
/// cancelled does not run, and its future keeps its result. The closure of
/// `always` runs even then.
///
/// ## As an operation
///
/// A future is an `Operation`: other operations can depend on it, it has a
/// completion block, one can wait for it, and it can be put in a queue, where
/// it occupies no slot before it has settled. You cannot construct a future;
/// see ``Promise`` and ``Promises``.
open class Future<Success: Sendable>: AnyFuture, @unchecked Sendable {
  // Sendable: `room` is filled once, by the first settlement, before the flag
  // that lets others read it.
  /// The value, once it has succeeded.
  @exclusivity(unchecked) @usableFromInline final var room = ValueRoom()

  /// Makes a future without a closure, which its maker settles.
  init(
    traits: Traits = [.mayBeReleasedPending], upstream: Upstream = .none, at birthplace: Birthplace
  ) {
    super.init(
      traits: traits, context: .inline, upstream: upstream, work: nil, at: birthplace)
  }

  /// Makes a future that runs a closure in a context.
  @inlinable
  init(
    traits: Traits, context: ContextReference, upstream: Upstream, at birthplace: Birthplace,
    work: Work?
  ) {
    super.init(
      traits: traits, context: context, upstream: upstream, work: work, at: birthplace)
  }

  /// For kinds of futures of other modules.
  ///
  /// The future keeps `work` until `takeWork()` takes it, or the future settles.
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

  /// What the future has settled with, or `nil` while it has not.
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

  /// Settles.
  ///
  /// `false` if the future had settled before; then nothing changes.
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

  /// Settles with a value.
  ///
  /// `false` if the future had settled before.
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
    // A link whose closure never ran is released only after a context has dropped
    // its continuation, which breaks the link first. So this is a promise, or a
    // future that stands for another one, which then takes over the waiters.
    if case .source(let source) = upstream, let link = source as? ForwardingWaiter {
      link.targetIsReleased(self, waiters: waiters)
      return
    }
    if traits.contains(.startsWhenObserved) { FlatRelease.release(takeWork()) }
    guard !waiters.isEmpty else { return }
    // This object is going; another takes its place for the waiters. (It has all of
    // them before it tells the first.)
    WorkLoop.current.perform { _ in
      makeFailed(ProperationsError.brokenPromise(createdAt: createdAt)).take(waiters)
    }
  }

  // MARK: Describing

  /// The name, the type, the state and the place of creation.
  open override var debugDescription: String {
    let state =
      switch result {
      case nil: isExecuting ? "executing" : "pending"
      case .success: "succeeded"
      case .failure(let error): isCancelled ? "cancelled" : "failed: \(error)"
      }
    let name = name.map { " \"\($0)\"" } ?? ""
    return "Future<\(Success.self)>\(name) (\(state)), created at "
      + "\(createdAt.fileID):\(createdAt.line)"
  }

  /// The same as ``debugDescription``.
  open override var description: String { debugDescription }
}
