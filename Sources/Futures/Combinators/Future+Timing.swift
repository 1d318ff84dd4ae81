import Foundation

extension Future {
  /// Holds a value back for some time.
  ///
  /// Failures pass at once. The timer is on time even if all threads of the global queues
  /// block. (With any clock but a `ContinuousClock`, a Swift task sleeps.) Cancelling the new
  /// future releases the timer.
  ///
  /// - Parameters:
  ///   - duration: The time to hold the value back. A negative duration counts as zero, more
  ///     than a century as a century.
  ///   - clock: The clock that measures the time; a `ManualClock` in tests. If its `sleep`
  ///     throws, the new future fails with that error.
  public func delay(
    for duration: Duration, clock: any Clock<Duration> = ContinuousClock(),
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    .derived(
      from: self, traits: .actsOnSuccess, on: .inline, at: Birthplace(fileID, line),
      work: Work { future, source in
        let timer = Timer(after: duration, on: clock) {
          if let error = $0.failureValue {
            future.settle(failure: error, from: .upstream)
          } else {
            future.settle(like: source, from: .upstream)
          }
        }
        if !future.waitAfterClosure(for: .source(timer)) {
          timer.cancel()
          future.closureHasReturned()
        }
      })
  }

  /// Holds a value back for some time.
  ///
  /// See ``delay(for:clock:fileID:line:)``.
  ///
  /// - Parameter interval: The time to hold the value back; `.never` counts as a century.
  @_disfavoredOverload
  public func delay(
    for interval: DispatchTimeInterval, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    delay(for: Duration(interval), fileID: fileID, line: line)
  }

  /// Makes a future that fails if this one has no result in time.
  ///
  /// When the time is up, the new future fails with
  /// ``ProperationsError/timedOut(after:)`` at once. This future is asked to cancel,
  /// unless it has other consumers. The timer is on time even if all threads of the
  /// global queues block. (With any clock but a `ContinuousClock`, a Swift task sleeps.)
  ///
  /// - Parameters:
  ///   - duration: The time to wait. A negative duration is up at once, more than a century
  ///     counts as a century.
  ///   - clock: The clock that measures the time; a `ManualClock` in tests. If its `sleep`
  ///     throws, the new future fails with that error.
  public func timeout(
    after duration: Duration, clock: any Clock<Duration> = ContinuousClock(),
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    limited(
      to: duration, on: clock, .failure(ProperationsError.timedOut(after: duration)),
      at: Birthplace(fileID, line))
  }

  /// Makes a future that fails if this one has no result in time.
  ///
  /// See ``timeout(after:clock:fileID:line:)``.
  ///
  /// - Parameter interval: The time to wait; `.never` counts as a century.
  @_disfavoredOverload
  public func timeout(
    after interval: DispatchTimeInterval, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    timeout(after: Duration(interval), fileID: fileID, line: line)
  }

  /// Makes a future that succeeds with another value if this one has no result in time.
  ///
  /// When the time is up, the new future succeeds with the fallback at once. This future
  /// is asked to cancel, unless it has other consumers. A failure in time is not
  /// replaced.
  ///
  /// - Parameters:
  ///   - duration: The time to wait. A negative duration is up at once, more than a century
  ///     counts as a century.
  ///   - fallback: The value if the time is up.
  ///   - clock: The clock that measures the time; a `ManualClock` in tests. If its `sleep`
  ///     throws, the new future fails with that error.
  public func timeout(
    after duration: Duration, fallback: Success,
    clock: any Clock<Duration> = ContinuousClock(),
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    limited(to: duration, on: clock, .success(fallback), at: Birthplace(fileID, line))
  }

  /// Makes a future that succeeds with another value if this one has no result in time.
  ///
  /// See ``timeout(after:fallback:clock:fileID:line:)``.
  ///
  /// - Parameters:
  ///   - interval: The time to wait; `.never` counts as a century.
  ///   - fallback: The value if the time is up.
  @_disfavoredOverload
  public func timeout(
    after interval: DispatchTimeInterval, fallback: Success, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Future<Success> {
    timeout(after: Duration(interval), fallback: fallback, fileID: fileID, line: line)
  }

  /// Makes a future that fails if this one has no result by a point in time.
  ///
  /// See ``timeout(after:clock:fileID:line:)``. The error names the time that was left at
  /// the call.
  ///
  /// - Parameter instant: The point in time; a past one is up at once.
  public func deadline(
    _ instant: ContinuousClock.Instant, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    deadline(instant, clock: ContinuousClock(), fileID: fileID, line: line)
  }

  /// Makes a future that fails if this one has no result by a point in time of a clock.
  ///
  /// See ``deadline(_:fileID:line:)``.
  ///
  /// - Parameters:
  ///   - instant: The point in time; a past one is up at once.
  ///   - clock: The clock of the instant. If its `sleep` throws, the new future fails with
  ///     that error.
  public func deadline<C: Clock<Duration>>(
    _ instant: C.Instant, clock: C, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    timeout(
      after: clock.now.duration(to: instant), clock: clock, fileID: fileID, line: line)
  }

  private func limited(
    to duration: Duration, on clock: any Clock<Duration>, _ result: FutureResult<Success>,
    at birthplace: Birthplace
  ) -> Future<Success> {
    let future = passedThrough(.hasTimer, at: birthplace)
    guard !future.isSettled else { return future }
    let timer = Timer(after: duration, on: clock) { end in
      // A result that is there is in time, even if a handler that was attached earlier still
      // blocks the telling. (A task has its result only when its handlers have run.)
      if case .success = end, let source = future.storage.upstream.existingFuture,
        source.isSettled, source.behaviour == nil
      {
        future.settle(like: source, from: .upstream)
      } else {
        future.settle(end.flatMap { result })
      }
    }
    if !future.watch({ _ in timer.withdraw(cancelling: true) }) { timer.cancel() }
    return future
  }
}
