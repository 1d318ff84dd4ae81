extension Permits {
  /// Starts work with a permit, which comes back when the work has ended.
  ///
  /// The closure runs when there is a permit. The permit comes back when the future that the
  /// closure returns has finished as an operation, by success, failure or cancellation. So a
  /// closure that is still running when its future is cancelled keeps the permit until it
  /// returns.
  ///
  /// Cancelling the new future leaves the line, or asks the future of the closure to cancel.
  ///
  /// Work that waits for another permit of the same object keeps its own meanwhile. If all
  /// who have a permit do so, they wait for ever.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - body: Starts the work.
  /// - Returns: A future that settles like the one that the closure returns, once the permit
  ///   has come back.
  public func withPermit<Success: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable () throws -> Future<Success>
  ) -> Future<Success> {
    ResourceUse.start(
      of: acquire(fileID: fileID, line: line), on: ContextReference(context),
      releasingOn: .inline, at: Birthplace(fileID, line), release: { $0.release() }
    ) { _ in try body() }
  }

  /// Starts work with a permit, which comes back when the work has ended.
  ///
  /// The closure runs on the main queue. See ``withPermit(on:fileID:line:_:)``.
  ///
  /// - Parameter body: Starts the work.
  /// - Returns: A future that settles like the one that the closure returns.
  public func withPermit<Success: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor () throws -> Future<Success>
  ) -> Future<Success> {
    withPermit(on: .main, fileID: fileID, line: line) { try MainActor.assumeIsolated(body) }
  }

  /// Runs async work with a permit, which comes back when the work has returned.
  ///
  /// ```swift
  /// let page = connections.withPermit { try await fetch(url).value }
  /// ```
  ///
  /// The work runs in a Swift task, which begins when there is a permit. Cancelling the new
  /// future leaves the line, or cancels the task; the permit comes back when the closure has
  /// returned. The closure keeps the actor isolation of the place where it is written.
  ///
  /// - Parameters:
  ///   - priority: The priority of the task.
  ///   - body: The work.
  /// - Returns: A future of what the closure returns or throws.
  public func withPermit<Success: Sendable>(
    priority: TaskPriority? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext _ body: @escaping @Sendable @isolated(any) () async throws -> Success
  ) -> Future<Success> {
    acquire(fileID: fileID, line: line)
      .flattened(.actsOnSuccess, on: .inline, at: Birthplace(fileID, line)) { permit in
        let permit = try permit.get()
        return Promises.async(priority: priority, fileID: fileID, line: line) {
          defer { permit.release() }
          return try await body()
        }
      }
  }
}
