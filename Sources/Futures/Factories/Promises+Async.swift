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
    startTask(
      priority, onMain: isolation(of: body) === MainActor.shared, at: Birthplace(fileID, line), body
    )
  }

  /// Runs async work in a Swift task, and makes a future of its value or error.
  ///
  /// - Parameter runsOnMain: Whether the work needs the main thread. The isolation of the closure
  ///   does not tell this if the closure wraps that of the user.
  static func startTask<Success: Sendable>(
    _ priority: TaskPriority?, onMain runsOnMain: Bool, at birthplace: Birthplace,
    _ body: sending @escaping @isolated(any) () async throws -> Success
  ) -> Future<Success> {
    // The task owns the future until it has settled it.
    let future = Future<Success>(
      traits: runsOnMain ? [.mayBeReleasedPending, .runsOnMain] : [.mayBeReleasedPending],
      at: birthplace)
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
