import Foundation

/// What becomes of the future when a task that awaits it is cancelled.
public enum TaskCancellationPolicy: Sendable {
  /// Only the wait ends; the future and all others who wait are unaffected.
  case endWait
  /// The wait ends, and the future is cancelled.
  case cancelFuture
}

extension Future {
  /// The value, as soon as it is there; throws the error of a failed future.
  ///
  /// Cancelling the awaiting task ends the wait with `CancellationError`; the
  /// future and all others who wait for it are unaffected. (Only if a consumer was
  /// cancelled before, and no other is left now, is the future cancelled.) A cancelled
  /// future throws ``ProperationsError/cancelled``.
  public final var value: Success {
    get async throws { try await outcome(onTaskCancellation: .endWait).get() }
  }

  /// The result, as soon as it is there.
  ///
  /// Cancelling the awaiting task ends the wait with a failure of
  /// `CancellationError`.
  public final var completion: FutureResult<Success> {
    get async { await outcome(onTaskCancellation: .endWait) }
  }

  /// The value, as soon as it is there, with a choice of what the cancellation
  /// of the awaiting task means.
  ///
  /// - Parameter policy: What becomes of the future.
  /// - Throws: The error of a failed future; `CancellationError` if the wait
  ///   was ended by cancelling the task.
  public final func value(onTaskCancellation policy: TaskCancellationPolicy) async throws -> Success
  {
    try await outcome(onTaskCancellation: policy).get()
  }

  /// The result, as soon as it is there, with a choice of what the
  /// cancellation of the awaiting task means.
  ///
  /// - Parameter policy: What becomes of the future.
  public final func completion(
    onTaskCancellation policy: TaskCancellationPolicy
  ) async -> FutureResult<Success> {
    await outcome(onTaskCancellation: policy)
  }

  private final func outcome(
    onTaskCancellation policy: TaskCancellationPolicy
  ) async -> FutureResult<Success> {
    if isSettledAndTold, let result { return result }
    let waiter = AwaitingTask<Success>()
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        if waiter.suspend(continuation) { attach(.callback(waiter)) }
        // Cancelled between the two: it may have come too late to leave.
        if waiter.isDone { detach(.callback(waiter), cancelling: false) }
      }
    } onCancel: {
      guard waiter.cancel() else { return }
      detach(.callback(waiter), cancelling: false, isGivingUp: true)
      if policy == .cancelFuture { cancel() }
    }
  }
}

/// A Swift task that awaits a future.
///
///   idle ── suspend ──▶ suspended ── deliver or cancel ──▶ resumed
///    └───── cancel ───▶ cancelled ── suspend ────────────▶ resumed
private final class AwaitingTask<Success: Sendable>: CallbackWaiter, @unchecked Sendable {
  // Sendable: `state` has a lock.
  private enum State {
    case idle
    case suspended(UnsafeContinuation<FutureResult<Success>, Never>)
    case cancelled
    case resumed
  }

  private let state = Lock(State.idle)

  override var isDone: Bool {
    state.withLock { state in
      switch state {
      case .idle, .suspended: false
      case .cancelled, .resumed: true
      }
    }
  }

  /// `false` if the task was cancelled before it came to wait.
  func suspend(_ continuation: UnsafeContinuation<FutureResult<Success>, Never>) -> Bool {
    let isSuspended = state.withLock { state in
      if case .cancelled = state {
        state = .resumed
        return false
      }
      state = .suspended(continuation)
      return true
    }
    if !isSuspended { continuation.resume(returning: .failure(CancellationError())) }
    return isSuspended
  }

  /// `false` if the result was there first.
  func cancel() -> Bool {
    let (isFirst, continuation) = state.withLock {
      state -> (Bool, UnsafeContinuation<FutureResult<Success>, Never>?) in
      switch state {
      case .idle:
        state = .cancelled
        return (true, nil)
      case .suspended(let continuation):
        state = .resumed
        return (true, continuation)
      case .cancelled, .resumed:
        return (false, nil)
      }
    }
    continuation?.resume(returning: .failure(CancellationError()))
    return isFirst
  }

  override func deliver(_ source: AnyFuture) {
    let continuation = state.withLock {
      state -> UnsafeContinuation<FutureResult<Success>, Never>? in
      guard case .suspended(let continuation) = state else { return nil }
      state = .resumed
      return continuation
    }
    continuation?.resume(
      returning: unsafeDowncast(source, to: Future<Success>.self).settledResult)
  }
}
