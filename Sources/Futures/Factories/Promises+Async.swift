import Synchronization

extension Promises {
  /// Runs async work in a Swift task, and makes a future of its value or error.
  ///
  /// Cancelling the future cancels the task. The future settles without waiting for the task,
  /// and finishes as an operation when the closure has returned. So if the closure needs the
  /// main actor, do not call ``AnyFuture/waitUntilFinished()`` on the main thread, which would
  /// never return: it stops the program, also after a cancellation.
  /// ``Future/wait(timeout:)-(Duration?)`` waits only until the future has settled. If the closure
  /// throws `CancellationError`, the future is cancelled. The closure keeps the actor isolation of
  /// the place where it is written. It tells how far it has come with ``report(completed:of:)``.
  ///
  /// - Parameters:
  ///   - priority: The priority of the task; that of the caller by default.
  ///   - body: The work.
  public static func async<Success: Sendable>(
    priority: TaskPriority? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ body: sending @escaping @isolated(any) () async throws -> Success
  ) -> Future<Success> {
    // The task owns the future until it has settled it. The context only tells the search
    // for deadlocks that the closure needs the main queue.
    let needsMain = isolation(of: body) === MainActor.shared
    let future = Future<Success>(
      traits: needsMain ? [.mayBeReleasedPending, .runsOnMain] : [.mayBeReleasedPending],
      context: needsMain ? ContextReference(.main) : .inline, upstream: .none,
      at: Birthplace(fileID, line), work: needsMain ? Work { _, _ in } : nil)
    future.storage.runInTask()
    let task = Task(priority: priority) {
      let result: FutureResult<Success>
      do {
        let closure = RunningClosure(for: future)
        result = .success(try await closure.run { try await body() })
      } catch {
        result = .failure(error)
      }
      future.closureHasReturned()
      future.settle(result)
    }
    // The closure's own handlers of cancellation run in this call.
    let cancel: @Sendable (AnyFuture) -> Void = { _ in
      WorkLoop.current.callOut { releasingAutoreleased { task.cancel() } }
    }
    if !future.watch(.cancelled, cancel), future.isCancelled {
      task.cancel()
    }
    return future
  }
}

/// The actor that a closure is isolated to.
///
/// A separate function, because the compiler (6.3.1) cannot read the isolation of a
/// `sending` parameter in place.
private func isolation<Output>(
  of body: @isolated(any) () async throws -> Output
) -> (any Actor)? {
  body.isolation
}
