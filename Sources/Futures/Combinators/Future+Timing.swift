import Foundation

extension Future {
  /// Keeps a value back for some time.
  ///
  /// Failures pass at once.
  ///
  /// The timer is on time even if all threads of the global queues block.
  /// Cancelling the new future releases it.
  ///
  /// - Parameters:
  ///   - duration: How long; not at all if negative.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public func delay(
    for duration: Duration, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    .derived(
      from: self, traits: .actsOnSuccess, on: .inline, at: Birthplace(fileID, line),
      work: Work { future, source in
        let timer = Timer(after: duration) { future.settle(like: source, from: .upstream) }
        if !future.storage.wait(for: .source(timer)) {
          timer.cancel()
          future.finish(future.storage.closureReturned())
        }
      })
  }

  /// Keeps a value back for some time.
  ///
  /// Failures pass at once.
  ///
  /// - Parameters:
  ///   - interval: How long.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  @_disfavoredOverload
  public func delay(
    for interval: DispatchTimeInterval, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    delay(for: Duration(interval), fileID: fileID, line: line)
  }

  /// Fails if there is no result in time.
  ///
  /// When the time is up, the new future fails with
  /// ``ProperationsError/timedOut(after:)`` at once, and this one is asked to
  /// cancel, unless it has other consumers. The timer is on time even if all
  /// threads of the global queues block.
  ///
  /// - Parameters:
  ///   - duration: How long to wait; at most a moment if negative.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public func timeout(
    after duration: Duration, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    limited(
      to: duration, .failure(ProperationsError.timedOut(after: duration)),
      at: Birthplace(fileID, line))
  }

  /// Takes another value if there is no result in time.
  ///
  /// When the time is up, the new future succeeds with the fallback at once,
  /// and this one is asked to cancel, unless it has other consumers. A failure
  /// that comes in time is not replaced.
  ///
  /// - Parameters:
  ///   - duration: How long to wait; at most a moment if negative.
  ///   - fallback: The value to take then.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public func timeout(
    after duration: Duration, fallback: Success, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Future<Success> {
    limited(to: duration, .success(fallback), at: Birthplace(fileID, line))
  }

  /// Fails if there is no result by a point in time.
  ///
  /// See ``timeout(after:fileID:line:)``; the error names the time that was
  /// left when this was called.
  ///
  /// - Parameters:
  ///   - instant: When the time is up; at once if that is past.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  public func deadline(
    _ instant: ContinuousClock.Instant, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    timeout(after: ContinuousClock.now.duration(to: instant), fileID: fileID, line: line)
  }

  private func limited(
    to duration: Duration, _ result: FutureResult<Success>, at birthplace: Birthplace
  ) -> Future<Success> {
    let future = passedThrough(.hasTimer, at: birthplace)
    guard !future.isSettled else { return future }
    let timer = Timer(after: duration) { future.settle(result) }
    if !future.watch({ _ in timer.cancel() }) { timer.cancel() }
    return future
  }
}
