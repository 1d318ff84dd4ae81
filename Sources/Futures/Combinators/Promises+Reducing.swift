extension Promises {
  /// Combines the values of several futures into one, in the order of the futures.
  ///
  /// ```swift
  /// let size = Promises.reduce(downloads, 0, on: .inline) { size, data in size + data.count }
  /// ```
  ///
  /// The closure runs when all futures have succeeded, once for each value. The first
  /// failure fails the new future with that error, and cancels the other futures, even if
  /// they have other consumers. `collect(_:failingFast: true)` does the same. If there are
  /// no futures, the new future succeeds with the initial value.
  ///
  /// Cancelling the new future cancels the futures that have no other consumer. If the
  /// closure is running at that moment, it is not called again.
  ///
  /// - Parameters:
  ///   - futures: The futures. The same future may occur several times.
  ///   - initial: The partial result that the closure gets with the first value.
  ///   - context: Where the closure runs, for one value after the other.
  ///   - combine: Makes the next partial result. If it throws, the new future fails with
  ///     that error.
  /// - Returns: A future of the last partial result.
  public static func reduce<Futures: Sequence, Value: Sendable, Partial: Sendable>(
    _ futures: Futures, _ initial: Partial, on context: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ combine: @escaping @Sendable (_ partial: Partial, _ value: Value) throws -> Partial
  ) -> Future<Partial> where Futures.Element: Future<Value> {
    .derived(
      from: collect(futures, failingFast: true, fileID: fileID, line: line),
      traits: .actsOnSuccess, on: ContextReference(context), at: Birthplace(fileID, line),
      work: Work { future, source in
        let future = unsafeDowncast(future, to: Future<Partial>.self)
        do {
          var partial = initial
          for value in unsafeDowncast(source, to: Future<[Value]>.self).settledValue {
            if future.isSettled { break }
            partial = try combine(partial, value)
          }
          future.settle(success: partial, from: .closure)
        } catch {
          future.settle(failure: error, from: .closure)
        }
      })
  }

  /// Combines the values of several futures into one, in the order of the futures.
  ///
  /// The closure runs on the main queue. See ``reduce(_:_:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - futures: The futures. The same future may occur several times.
  ///   - initial: The partial result that the closure gets with the first value.
  ///   - combine: Makes the next partial result. If it throws, the new future fails with
  ///     that error.
  /// - Returns: A future of the last partial result.
  public static func reduce<Futures: Sequence, Value: Sendable, Partial: Sendable>(
    _ futures: Futures, _ initial: Partial, fileID: StaticString = #fileID, line: UInt = #line,
    _ combine: @escaping @MainActor (_ partial: Partial, _ value: Value) throws -> Partial
  ) -> Future<Partial> where Futures.Element: Future<Value> {
    reduce(futures, initial, on: .main, fileID: fileID, line: line) { partial, value in
      try MainActor.assumeIsolated { try combine(partial, value) }
    }
  }
}
