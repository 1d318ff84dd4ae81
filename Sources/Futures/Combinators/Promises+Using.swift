extension Promises {
  /// Uses a resource, and releases it exactly once when the use has ended.
  ///
  /// ```swift
  /// let answer = Promises.using(
  ///   acquire: pool.connection(), release: { $0.close() }, on: .global()
  /// ) { connection in
  ///   connection.query("SELECT 1")
  /// }
  /// ```
  ///
  /// The closure runs when the future of the resource has succeeded. The resource is
  /// released when the future that the closure returns has finished as an operation, by
  /// success, failure or cancellation, or when the closure has thrown. If that future is
  /// cancelled while its own closure runs, the resource is released when this returns.
  ///
  /// Cancelling the new future asks the future of the closure to cancel, or, before that
  /// exists, the future of the resource. If a resource comes all the same, it is released
  /// unused. So the future of the resource belongs to this call: give it no other consumer.
  ///
  /// - Parameters:
  ///   - resource: The future of the resource. If it fails, so does the new future, and
  ///     there is nothing to release.
  ///   - release: Releases the resource, in the context, even if the operations of a queue
  ///     are cancelled.
  ///   - context: Where both closures run.
  ///   - body: Begins to use the resource.
  /// - Returns: A future that settles like the one that the closure returns, after the
  ///   resource was released; if the new future is cancelled, at once.
  public static func using<Resource: Sendable, Success: Sendable>(
    acquire resource: Future<Resource>, release: @escaping @Sendable (Resource) -> Void,
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Resource) throws -> Future<Success>
  ) -> Future<Success> {
    let context = ContextReference(context)
    return ResourceUse.start(
      of: resource, on: context, releasingOn: context, at: Birthplace(fileID, line),
      release: release, body)
  }

  /// Uses a resource, and releases it exactly once when the use has ended.
  ///
  /// Both closures run on the main queue. See
  /// ``using(acquire:release:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - resource: The future of the resource.
  ///   - release: Releases the resource.
  ///   - body: Begins to use the resource.
  /// - Returns: A future that settles like the one that the closure returns.
  public static func using<Resource: Sendable, Success: Sendable>(
    acquire resource: Future<Resource>, release: @escaping @MainActor (Resource) -> Void,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @MainActor (Resource) throws -> Future<Success>
  ) -> Future<Success> {
    using(
      acquire: resource, release: onMainSafe(release), on: .main, fileID: fileID, line: line,
      onMain(body))
  }
}
