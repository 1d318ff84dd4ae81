extension Permits {
  /// Starts work with a permit, and gives the permit back when the work has ended.
  ///
  /// The closure runs when a permit is available. The permit comes back when the future
  /// that the closure returns has finished as an operation, by success, failure or
  /// cancellation. So if that future is cancelled while its own closure still runs, the
  /// permit comes back when that closure returns. A future made from the future of a closure
  /// does not wait for that closure: transform the future that this call returns instead. For
  /// async work there is ``withPermit(priority:fileID:line:_:)``.
  ///
  /// If the new future is cancelled while it waits for a permit, it leaves the line. If it
  /// is cancelled later, the future that the closure returned is asked to cancel.
  ///
  /// Do not wait for a second permit of the same object inside the work: the work keeps its
  /// own permit meanwhile. If all holders of permits do this, they wait forever.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - body: Starts the work.
  /// - Returns: A future that settles like the future that the closure returns, after the
  ///   permit has come back.
  public func withPermit<Success: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable () throws -> Future<Success>
  ) -> Future<Success> {
    ResourceUse.start(
      of: acquire(fileID: fileID, line: line), on: ContextReference(context),
      releasingOn: .inline, at: Birthplace(fileID, line), release: { $0.release() }
    ) { _ in try body() }
  }

  /// Starts work with a permit, and gives the permit back when the work has ended.
  ///
  /// The closure runs on the main queue. See ``withPermit(on:fileID:line:_:)``.
  ///
  /// - Parameter body: Starts the work.
  /// - Returns: A future that settles like the future that the closure returns.
  public func withPermit<Success: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor () throws -> Future<Success>
  ) -> Future<Success> {
    withPermit(on: .main, fileID: fileID, line: line) { try MainActor.assumeIsolated(body) }
  }

  /// Runs async work with a permit, and gives the permit back when the work has returned.
  ///
  /// ```swift
  /// let page = connections.withPermit { try await fetch(url).value }
  /// ```
  ///
  /// The work runs in a Swift task, which starts when a permit is available. If the new
  /// future is cancelled while it waits for a permit, it leaves the line. If it is
  /// cancelled later, the task is cancelled, and the permit comes back when the closure has
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
    // Not that of the thread that gives the permit back.
    let path = FlightPath.current
    return acquire(fileID: fileID, line: line)
      .flattened(.actsOnSuccess, on: .inline, at: Birthplace(fileID, line)) { permit in
        let permit = try permit.get()
        return path.run {
          Promises.startTask(
            priority, onMain: body.isolation === MainActor.shared, at: Birthplace(fileID, line)
          ) {
            defer { permit.release() }
            return try await body()
          }
        }
      }
  }
}
