extension Promises {
  /// Starts work, and starts it once more whenever it takes long; the first success wins.
  ///
  /// ```swift
  /// let page = Promises.hedge(after: .milliseconds(300), attempts: 3, on: .global()) { attempt in
  ///   fetch(mirrors[(attempt - 1) % mirrors.count])
  /// }
  /// ```
  ///
  /// The first attempt starts at once. Another one starts each time that no attempt has
  /// succeeded for the given time, and as soon as an attempt fails, until there have been
  /// as many as allowed. When one succeeds, the others are cancelled unless they have other
  /// consumers. If all fail, the error is ``ProperationsError/multipleErrors(_:)``, with one
  /// entry for each attempt.
  ///
  /// A cancelled attempt is not replaced, and none starts after it; if all attempts were
  /// cancelled, so is the new future. Cancelling the new future cancels all attempts.
  ///
  /// Hedge work that may be done several times, and where the slowest cases matter.
  ///
  /// - Parameters:
  ///   - delay: How long to wait for an attempt before the next one starts; not at all if
  ///     negative.
  ///   - attempts: How many attempts there are at most, the first one included. Less than
  ///     one counts as one.
  ///   - clock: What measures the time; give tests one of their own.
  ///   - context: Where the closure runs.
  ///   - makeFuture: Gets the number of the attempt, beginning with one, and makes its
  ///     future. What it throws counts as the failure of the attempt.
  /// - Returns: A future of the first value.
  public static func hedge<Success: Sendable>(
    after delay: Duration, attempts: Int = 2, clock: any Clock<Duration> = ContinuousClock(),
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @Sendable (_ attempt: Int) throws -> Future<Success>
  ) -> Future<Success> {
    let context = ContextReference(context)
    let birthplace = Birthplace(fileID, line)
    let target = Future<Success>(traits: [], at: birthplace)
    Hedge(target, HedgeMachine(attempts: attempts), after: delay, clock) { attempt in
      makeSucceeded(with: attempt, fileID: fileID, line: line)
        .flattened(.actsOnSuccess, on: context, at: birthplace) { try makeFuture($0.get()) }
    }.begin()
    return target
  }

  /// Starts work, and starts it once more whenever it takes long; the first success wins.
  ///
  /// The closure runs on the main queue. See
  /// ``hedge(after:attempts:clock:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - delay: How long to wait for an attempt before the next one starts.
  ///   - attempts: How many attempts there are at most, the first one included.
  ///   - clock: What measures the time.
  ///   - makeFuture: Gets the number of the attempt, beginning with one, and makes its
  ///     future.
  /// - Returns: A future of the first value.
  public static func hedge<Success: Sendable>(
    after delay: Duration, attempts: Int = 2, clock: any Clock<Duration> = ContinuousClock(),
    fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @MainActor (_ attempt: Int) throws -> Future<Success>
  ) -> Future<Success> {
    hedge(
      after: delay, attempts: attempts, clock: clock, on: .main, fileID: fileID, line: line,
      onMain(makeFuture))
  }
}
