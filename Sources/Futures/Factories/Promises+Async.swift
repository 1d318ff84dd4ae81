import Synchronization

extension Promises {
  /// Runs async work in a Swift task; its value, or what it throws, is the
  /// result.
  ///
  /// Cancelling the future cancels the task, and settles the future without
  /// waiting for it. A `CancellationError` that the work throws counts as
  /// cancellation. The closure keeps the actor isolation of the place where it
  /// is written.
  ///
  /// - Parameters:
  ///   - priority: The priority of the task; that of the caller by default.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - body: The work.
  @discardableResult
  public static func async<Success: Sendable>(
    priority: TaskPriority? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ body: sending @escaping @isolated(any) () async throws -> Success
  ) -> Future<Success> {
    // The task owns the future until it has settled it.
    let future = Future<Success>(at: Birthplace(fileID, line))
    let task = Task(priority: priority) {
      do {
        future.settle(.success(try await body()))
      } catch is CancellationError {
        future.settle(.failure(ProperationsError.cancelled))
      } catch {
        future.settle(.failure(error))
      }
    }
    if !future.watch(onlyOnCancellation: true, { _ in task.cancel() }), future.isCancelled {
      task.cancel()
    }
    return future
  }
}
