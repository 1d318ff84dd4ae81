extension Promises {
  /// Makes a future whose work starts when the future is observed for the first time.
  ///
  /// ```swift
  /// let index = Promises.lazy(on: .global()) { fetch(indexURL) }
  /// // Nothing is fetched yet, and nothing at all if no code asks.
  /// index.onSuccess { show($0) }
  /// ```
  ///
  /// The closure runs once. A future or handler that is made from the future observes it,
  /// and so does a task that awaits it, a thread that waits for it, an operation that
  /// depends on it, and a queue that it is put in. Reading its properties does not observe
  /// it, nor does a ``CancellationScope``, nor does code that knows it as an `Operation` only
  /// and calls Foundation's own methods.
  ///
  /// A future that is cancelled before it is observed never runs the closure. One that is
  /// released unobserved releases the closure.
  ///
  /// Observing the future does not run the closure inside the observing call, except
  /// `on: .inline`.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - makeFuture: Starts the work. What it throws fails the future.
  /// - Returns: A future that settles like the one that the closure returns.
  public static func lazy<Success: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @Sendable () throws -> Future<Success>
  ) -> Future<Success> {
    let context = ContextReference(context)
    let birthplace = Birthplace(fileID, line)
    // (The observer keeps the future: it must not be bypassed before it has started.)
    return Future(
      traits: .startsWhenObserved, context: .inline, upstream: .none, at: birthplace,
      work: Work { future, _ in
        let started = makeSucceeded(fileID: fileID, line: line)
          .flattened(.actsOnSuccess, on: context, at: birthplace) { _ in try makeFuture() }
        ForwardingWaiter.link(future, to: started)
      })
  }

  /// Makes a future whose work starts when the future is observed for the first time.
  ///
  /// The closure runs on the main queue. See ``lazy(on:fileID:line:_:)``.
  ///
  /// - Parameter makeFuture: Starts the work. What it throws fails the future.
  /// - Returns: A future that settles like the one that the closure returns.
  public static func lazy<Success: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @MainActor () throws -> Future<Success>
  ) -> Future<Success> {
    lazy(on: .main, fileID: fileID, line: line) { try MainActor.assumeIsolated(makeFuture) }
  }
}

extension AnyFuture {
  /// Starts a future that waits to be observed; only the first call has an effect.
  ///
  /// Called with no lock held, after the waiter was attached.
  @usableFromInline
  package final func startBecauseObserved() {
    guard traits.contains(.startsWhenObserved), let work = takeWork() else { return }
    work(self, self)
  }
}
