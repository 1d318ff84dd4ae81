import Foundation

extension Promises {
  /// Tries a future again and again, until one succeeds or the policy stops.
  ///
  /// ```swift
  /// let page = Promises.retry(RetryPolicy(attempts: 3), on: .global()) { attempt in fetch(url) }
  /// ```
  ///
  /// An error that the closure throws counts as the failure of the attempt. The new
  /// future has the result of the last attempt. A cancelled attempt is not tried again.
  /// Cancelling the new future ends the wait, and asks the running attempt to cancel. Any
  /// number of attempts needs the memory of one.
  ///
  /// The closures of the policy run where an attempt has settled. The deadline counts
  /// from this call.
  ///
  /// - Parameters:
  ///   - policy: How often, how soon, and after which errors to try again.
  ///   - context: Where the closure runs.
  ///   - makeFuture: Called with the number of the attempt, beginning with one. Returns
  ///     the attempt's future.
  public static func retry<Success: Sendable>(
    _ policy: RetryPolicy, on context: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @Sendable (_ attempt: Int) throws -> Future<Success>
  ) -> Future<Success> {
    let run = RetryRun(policy)
    run.begin()
    let context = ContextReference(context)
    let birthplace = Birthplace(fileID, line)
    // The progress is that of the attempt: what comes before it only lets it begin.
    @Sendable func attempt() -> Future<Success> {
      Future.started(on: context, at: birthplace) { try makeFuture(run.attempt) }
        .recoverToFuture(on: .inline, fileID: fileID, line: line) { error in
          guard !error.isCancellation, let wait = run.wait(after: error) else { throw error }
          guard wait > .zero else { return attempt() }
          return run.pause(for: wait, at: birthplace)
            .flattened(.actsOnSuccess, on: .inline, at: birthplace) { _ in attempt() }
        }
    }
    return attempt()
  }

  /// Tries a future again and again, until one succeeds or the policy stops.
  ///
  /// The closure runs on the main queue. See ``retry(_:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - policy: How often, how soon, and after which errors to try again.
  ///   - makeFuture: Called with the number of the attempt, beginning with one. Returns
  ///     the attempt's future.
  public static func retry<Success: Sendable>(
    _ policy: RetryPolicy, fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @MainActor (_ attempt: Int) throws -> Future<Success>
  ) -> Future<Success> {
    retry(policy, on: .main, fileID: fileID, line: line, onMain(makeFuture))
  }

  /// Tries futures until one succeeds, a number of times.
  ///
  /// See ``retry(_:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - attempts: How many attempts there are at most; less than one counts as one.
  ///   - delay: How long to wait before the next attempt.
  ///   - context: Where the closure runs.
  ///   - makeFuture: Gets the number of the attempt, beginning with one, and makes its future.
  public static func retry<Success: Sendable>(
    attempts: Int, delay: RetryPolicy.Delay = .none, on context: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @Sendable (_ attempt: Int) throws -> Future<Success>
  ) -> Future<Success> {
    retry(
      RetryPolicy(attempts: attempts, delay: delay), on: context, fileID: fileID, line: line,
      makeFuture)
  }

  /// Tries futures until one succeeds, a number of times.
  ///
  /// The closure runs on the main queue. See ``retry(_:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - attempts: How many attempts there are at most; less than one counts as one.
  ///   - delay: How long to wait before the next attempt.
  ///   - makeFuture: Gets the number of the attempt, beginning with one, and makes its future.
  public static func retry<Success: Sendable>(
    attempts: Int, delay: RetryPolicy.Delay = .none,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @MainActor (_ attempt: Int) throws -> Future<Success>
  ) -> Future<Success> {
    retry(
      attempts: attempts, delay: delay, on: .main, fileID: fileID, line: line, onMain(makeFuture))
  }

  /// Runs async work in a Swift task, again and again until it succeeds.
  ///
  /// ```swift
  /// let page = Promises.async(retrying: RetryPolicy(attempts: 3)) { attempt in
  ///   try await fetch(url).value
  /// }
  /// ```
  ///
  /// See ``retry(_:on:fileID:line:_:)``. The closure keeps the actor isolation of the place
  /// where it is written.
  ///
  /// - Parameters:
  ///   - policy: How often, how soon, and after which errors to try again.
  ///   - priority: The priority of the task; that of the caller by default.
  ///   - body: Does the work. Called with the number of the attempt, beginning with one.
  public static func async<Success: Sendable>(
    retrying policy: RetryPolicy, priority: TaskPriority? = nil,
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ body:
      @escaping @Sendable @isolated(any) (_ attempt: Int) async throws -> Success
  ) -> Future<Success> {
    let run = RetryRun(policy)
    run.begin()
    return startTask(
      priority, onMain: body.isolation === MainActor.shared, at: Birthplace(fileID, line)
    ) {
      while true {
        do {
          return try await body(run.attempt)
        } catch {
          if error.isCancellation { throw error }
          // Before the policy is asked, because an attempt takes from its budget.
          try Task.checkCancellation()
          guard let wait = run.wait(after: error) else { throw error }
          try await run.sleep(for: wait)
        }
      }
    }
  }
}
