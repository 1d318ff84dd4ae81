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
  /// released when the closure has thrown, or when the future that the closure returns has
  /// finished as an operation, by success, failure or cancellation. If that future is
  /// cancelled while its own closure runs, the resource is released when that closure
  /// returns. This holds for the closure of ``async(priority:fileID:line:_:)``, too. A future
  /// made from the future of a closure does not wait for that closure: transform the future
  /// that this call returns instead.
  ///
  /// Cancelling the new future asks the future of the closure to cancel; before that
  /// exists, it asks the future of the resource. If the resource still comes, it is
  /// released unused. So the future of the resource belongs to this call: give it no other
  /// consumer.
  ///
  /// A cancelled future drops the value that its closure, or its Swift task, returns later.
  /// If such a value would have to be released, shield the acquisition:
  ///
  /// ```swift
  /// let size = Promises.using(
  ///   acquire: Promises.async { try await openFile() }, shieldingAcquisition: true,
  ///   release: { $0.close() }, on: .global()
  /// ) { file in
  ///   file.size()
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - resource: The future of the resource. If it fails, the new future fails with the
  ///     same error, and nothing is released.
  ///   - shieldingAcquisition: Whether cancelling the new future leaves the future of the
  ///     resource alone. The resource is then released unused when it comes.
  ///   - release: Releases the resource. It runs in the context, even if the operations of
  ///     a queue are cancelled.
  ///   - context: Where both closures run.
  ///   - body: Starts the use of the resource.
  /// - Returns: A future that settles like the future that the closure returns, after the
  ///   resource was released. If the new future is cancelled, it settles at once.
  public static func using<Resource: Sendable, Success: Sendable>(
    acquire resource: Future<Resource>, shieldingAcquisition: Bool = false,
    release: @escaping @Sendable (Resource) -> Void, on context: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Resource) throws -> Future<Success>
  ) -> Future<Success> {
    let context = ContextReference(context)
    return ResourceUse.start(
      of: resource, shielding: shieldingAcquisition, on: context, releasingOn: context,
      at: Birthplace(fileID, line), release: release, body)
  }

  /// Uses a resource, and releases it exactly once when the use has ended.
  ///
  /// Both closures run on the main queue. See
  /// ``using(acquire:shieldingAcquisition:release:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - resource: The future of the resource.
  ///   - shieldingAcquisition: Whether cancelling the new future leaves the future of the
  ///     resource alone.
  ///   - release: Releases the resource.
  ///   - body: Starts the use of the resource.
  /// - Returns: A future that settles like the future that the closure returns.
  public static func using<Resource: Sendable, Success: Sendable>(
    acquire resource: Future<Resource>, shieldingAcquisition: Bool = false,
    release: @escaping @MainActor (Resource) -> Void, fileID: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @MainActor (Resource) throws -> Future<Success>
  ) -> Future<Success> {
    using(
      acquire: resource, shieldingAcquisition: shieldingAcquisition,
      release: onMainSafe(release), on: .main, fileID: fileID, line: line, onMain(body))
  }
}
