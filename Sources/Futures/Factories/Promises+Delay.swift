import Foundation

extension Promises {
  /// Makes a future that succeeds after some time.
  ///
  /// The timer is on time even if all threads of the global queues block. (This holds for a
  /// `ContinuousClock`. With any other clock a Swift task sleeps.) Cancelling the future
  /// releases the timer.
  ///
  /// - Parameters:
  ///   - duration: The time to wait; a negative duration is up at once, and more than a
  ///     century counts as a century.
  ///   - clock: The clock that measures the time; a `ManualClock` in tests. If its `sleep`
  ///     throws, the new future fails with that error.
  public static func delay(
    for duration: Duration, clock: any Clock<Duration> = ContinuousClock(),
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Void> {
    let future = Future<Void>(traits: [], at: Birthplace(fileID, line))
    // The timer keeps the future; the future can cancel the timer.
    let timer = Timer(after: duration, on: clock) { future.settle($0, from: .upstream) }
    _ = future.storage.wait(for: .source(timer))
    return future
  }

  /// Makes a future that succeeds after some time.
  ///
  /// - Parameter interval: The time to wait.
  @_disfavoredOverload
  public static func delay(
    for interval: DispatchTimeInterval, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Void> {
    delay(for: Duration(interval), fileID: fileID, line: line)
  }
}
