import Foundation

/// What happens to a future when a task that awaits it is cancelled.
public enum TaskCancellationPolicy: Sendable {
  /// Only the wait ends. The future and its other consumers are unaffected.
  case endWait
  /// The wait ends, and the future is cancelled.
  case cancelFuture
}

extension Future {
  /// The value of the future, when it has settled.
  ///
  /// Throws the error of a failed future.
  ///
  /// Cancelling the awaiting task ends the wait with `CancellationError`. The future and
  /// its other consumers are unaffected. The future is cancelled only if another consumer
  /// was cancelled before and no consumer is left now. A cancelled future throws
  /// ``ProperationsError/cancelled``.
  public final var value: Success {
    get async throws { try await completion(onTaskCancellation: .endWait).get() }
  }

  /// The result of the future, when it has settled.
  ///
  /// Cancelling the awaiting task ends the wait with a failure of `CancellationError`.
  public final var completion: FutureResult<Success> {
    get async { await completion(onTaskCancellation: .endWait) }
  }

  /// Awaits the value, with a choice of what cancelling the awaiting task does.
  ///
  /// - Parameter policy: What happens to the future.
  /// - Throws: The error of a failed future, or `CancellationError` if cancelling the
  ///   task ended the wait.
  public final func value(onTaskCancellation policy: TaskCancellationPolicy) async throws -> Success
  {
    try await completion(onTaskCancellation: policy).get()
  }

  /// Awaits the result, with a choice of what cancelling the awaiting task does.
  ///
  /// - Parameter policy: What happens to the future.
  public final func completion(
    onTaskCancellation policy: TaskCancellationPolicy
  ) async -> FutureResult<Success> {
    if isSettledAndTold, let result { return result }
    let holder = SlotHolder.ofCurrentTask
    let waiter = AwaitingTask<Success>(in: holder)
    let wait = holder.map { SlotWait(of: $0, for: self) }
    defer { wait?.end() }
    return await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        wait?.begin()
        if waiter.suspend(continuation) {
          attach(.callback(waiter))
          wait?.watch { error in
            guard waiter.end(with: error) else { return }
            self.detach(.callback(waiter), cancelling: false, isGivingUp: true)
          }
        }
        // The task may have been cancelled between the two calls, before there was a
        // waiter to detach.
        if waiter.isDone { detach(.callback(waiter), cancelling: false, isGivingUp: true) }
      }
    } onCancel: {
      // First: the task may begin its next wait at once. And if no thread is free to go on with
      // the task, the closure must not seem to wait meanwhile.
      wait?.end()
      guard waiter.end(with: CancellationError()) else { return }
      detach(.callback(waiter), cancelling: false, isGivingUp: true)
      if policy == .cancelFuture { cancel() }
    }
  }
}

/// A Swift task that awaits a future.
///
///   idle ── suspend ──▶ suspended ── deliver or end ──▶ resumed
///    └────── end ─────▶ ended ─────── suspend ────────▶ resumed
private final class AwaitingTask<Success: Sendable>: CallbackWaiter, @unchecked Sendable {
  // Sendable: `state` has a lock.
  private enum State {
    case idle
    case suspended(UnsafeContinuation<FutureResult<Success>, Never>)
    case ended(any Error)
    case resumed
  }

  private let state = Lock(State.idle)
  /// The future whose async closure awaits, if it holds a slot of a queue.
  private let body: AnyFuture?

  init(in holder: SlotHolder?) { body = holder?.future }

  override var downstreams: [AnyFuture] { body.map { [$0] } ?? [] }

  override var isDone: Bool {
    state.withLock { state in
      switch state {
      case .idle, .suspended: false
      case .ended, .resumed: true
      }
    }
  }

  /// Suspends the task.
  ///
  /// Returns `false` if the wait had ended before.
  func suspend(_ continuation: UnsafeContinuation<FutureResult<Success>, Never>) -> Bool {
    let error = state.withLock { state -> (any Error)? in
      if case .ended(let error) = state {
        state = .resumed
        return error
      }
      state = .suspended(continuation)
      return nil
    }
    if let error { continuation.resume(returning: .failure(error)) }
    return error == nil
  }

  /// Ends the wait without a result, because the task was cancelled or the wait cannot end.
  ///
  /// Returns `false` if the wait has ended before.
  func end(with error: any Error) -> Bool {
    let (isFirst, continuation) = state.withLock {
      state -> (Bool, UnsafeContinuation<FutureResult<Success>, Never>?) in
      switch state {
      case .idle:
        state = .ended(error)
        return (true, nil)
      case .suspended(let continuation):
        state = .resumed
        return (true, continuation)
      case .ended, .resumed:
        return (false, nil)
      }
    }
    continuation?.resume(returning: .failure(error))
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
