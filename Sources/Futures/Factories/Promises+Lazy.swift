extension Promises {
  /// Makes a future whose work starts when code observes the future for the first time.
  ///
  /// ```swift
  /// let index = Promises.lazy(on: .global()) { fetch(indexURL) }
  /// // Nothing is fetched yet, and nothing at all if no code asks.
  /// index.onSuccess { show($0) }
  /// ```
  ///
  /// The closure runs at most once. The following observe the future: a future or handler
  /// made from it, a task that awaits it, a thread that waits for it, an operation that
  /// depends on it (a typed task: once it is in a queue), and a queue that it is put in. The
  /// following do not: reads of its properties, a ``CancellationScope``, and code that treats it
  /// as a plain `Operation` and calls Foundation's own methods.
  ///
  /// A future that is cancelled before it is observed never runs the closure. A future that
  /// is released before it is observed releases the closure.
  ///
  /// The closure does not run inside the observing call, except `on: .inline`.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - makeFuture: Starts the work. If it throws, the future fails with that error.
  /// - Returns: A future that settles like the future that the closure returns.
  public static func lazy<Success: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @Sendable () throws -> Future<Success>
  ) -> Future<Success> {
    let context = ContextReference(context)
    let birthplace = Birthplace(fileID, line)
    // An observer keeps the future alive, and must not bypass it before the work has
    // started.
    return Future(
      traits: .startsWhenObserved, context: .inline, upstream: .none, at: birthplace,
      work: Work { future, _ in
        let started = Future.started(on: context, at: birthplace, makeFuture)
        ForwardingWaiter.link(future, to: started)
      })
  }

  /// Makes a future whose work starts when code observes the future for the first time.
  ///
  /// The closure runs on the main queue. See ``lazy(on:fileID:line:_:)``.
  ///
  /// - Parameter makeFuture: Starts the work. If it throws, the future fails with that
  ///   error.
  /// - Returns: A future that settles like the future that the closure returns.
  public static func lazy<Success: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @MainActor () throws -> Future<Success>
  ) -> Future<Success> {
    lazy(on: .main, fileID: fileID, line: line) { try MainActor.assumeIsolated(makeFuture) }
  }
}

extension AnyFuture {
  /// Starts the work of a lazy future; only the first call has an effect.
  ///
  /// Called with no lock held, after the waiter was attached, and by a thread that is about to
  /// wait.
  @usableFromInline
  package final func startBecauseObserved() {
    guard traits.contains(.startsWhenObserved), let work = takeWork() else { return }
    work(self, self)
  }
}
