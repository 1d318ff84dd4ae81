import Foundation

extension Promises {
  /// Starts an attempt, and another one whenever an attempt takes too long; the first
  /// success wins.
  ///
  /// ```swift
  /// let page = Promises.hedge(after: .milliseconds(300), attempts: 3, on: .global()) { attempt in
  ///   fetch(mirrors[(attempt - 1) % mirrors.count])
  /// }
  /// ```
  ///
  /// The first attempt starts at once. Another one starts whenever the delay passes without
  /// a success, and as soon as an attempt fails, up to the number of attempts. When an
  /// attempt succeeds, the others are cancelled unless they have other consumers. If all
  /// fail, the error is ``ProperationsError/multipleErrors(_:)``, with one entry for each
  /// attempt.
  ///
  /// A cancelled attempt is not replaced, and no attempt starts after it. If all attempts
  /// were cancelled, the new future is cancelled. Cancelling the new future cancels all
  /// attempts.
  ///
  /// Use it for work that may run several times, and where the slowest cases matter.
  ///
  /// - Parameters:
  ///   - delay: The time between the start of an attempt and the start of the next. It
  ///     begins when the closure has returned. A negative delay counts as zero, more than a
  ///     century as a century.
  ///   - attempts: The largest number of attempts, including the first. A number less than
  ///     one counts as one.
  ///   - budget: A limit that this work shares with other work. If it is used up, no further
  ///     attempt starts.
  ///   - clock: Measures the time. Tests can pass a clock of their own. If its `sleep`
  ///     throws, the next attempt starts at once.
  ///   - context: Where the closure runs.
  ///   - makeFuture: Gets the number of the attempt, beginning with one, and makes its
  ///     future. If it throws, the attempt fails with that error.
  /// - Returns: A future of the first value.
  public static func hedge<Success: Sendable>(
    after delay: Duration, attempts: Int = 2, budget: RetryBudget? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @Sendable (_ attempt: Int) throws -> Future<Success>
  ) -> Future<Success> {
    let context = ContextReference(context)
    let birthplace = Birthplace(fileID, line)
    let target = Future<Success>(traits: [], at: birthplace)
    // Later attempts start from timers.
    let makeFuture = CarriedTaskLocals.bind(makeFuture)
    Hedge(target, HedgeMachine(attempts: attempts), after: delay, budget, clock) {
      attempt, hasStarted in
      Future.started(on: context, at: birthplace) {
        let future = try makeFuture(attempt)
        hasStarted()
        return future
      }
    }.begin()
    return target
  }

  /// Starts an attempt, and another one whenever an attempt takes too long; the first
  /// success wins.
  ///
  /// The closure runs on the main queue. See
  /// ``hedge(after:attempts:budget:clock:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - delay: The time between the start of an attempt and the start of the next. It
  ///     begins when the closure has returned.
  ///   - attempts: The largest number of attempts, including the first.
  ///   - budget: A limit that this work shares with other work.
  ///   - clock: Measures the time.
  ///   - makeFuture: Gets the number of the attempt, beginning with one, and makes its
  ///     future. If it throws, the attempt fails with that error.
  /// - Returns: A future of the first value.
  public static func hedge<Success: Sendable>(
    after delay: Duration, attempts: Int = 2, budget: RetryBudget? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @MainActor (_ attempt: Int) throws -> Future<Success>
  ) -> Future<Success> {
    hedge(
      after: delay, attempts: attempts, budget: budget, clock: clock, on: .main, fileID: fileID,
      line: line,
      onMain(makeFuture))
  }

  /// Starts an attempt, and another one whenever an attempt takes too long.
  ///
  /// See ``hedge(after:attempts:budget:clock:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - interval: The time between the start of an attempt and the start of the next.
  ///   - attempts: The largest number of attempts, including the first.
  ///   - budget: A limit that this work shares with other work.
  ///   - context: Where the closure runs.
  ///   - makeFuture: Gets the number of the attempt, beginning with one, and makes its
  ///     future.
  /// - Returns: A future of the first value.
  @_disfavoredOverload
  public static func hedge<Success: Sendable>(
    after interval: DispatchTimeInterval, attempts: Int = 2, budget: RetryBudget? = nil,
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @Sendable (_ attempt: Int) throws -> Future<Success>
  ) -> Future<Success> {
    hedge(
      after: Duration(interval), attempts: attempts, budget: budget, on: context,
      fileID: fileID, line: line, makeFuture)
  }

  /// Starts an attempt, and another one whenever an attempt takes too long.
  ///
  /// The closure runs on the main queue. See
  /// ``hedge(after:attempts:budget:clock:on:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - interval: The time between the start of an attempt and the start of the next.
  ///   - attempts: The largest number of attempts, including the first.
  ///   - budget: A limit that this work shares with other work.
  ///   - makeFuture: Gets the number of the attempt, beginning with one, and makes its
  ///     future.
  /// - Returns: A future of the first value.
  @_disfavoredOverload
  public static func hedge<Success: Sendable>(
    after interval: DispatchTimeInterval, attempts: Int = 2, budget: RetryBudget? = nil,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ makeFuture: @escaping @MainActor (_ attempt: Int) throws -> Future<Success>
  ) -> Future<Success> {
    hedge(
      after: Duration(interval), attempts: attempts, budget: budget, fileID: fileID, line: line,
      makeFuture)
  }
}
