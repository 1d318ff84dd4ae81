import Foundation

// Old names that have been replaced by better ones. Each still does what it did.

extension Promises {
  /// Makes a promise that belongs to a queue; use ``make(promising:in:fileID:line:)``.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - queue: The queue that the promise belongs to.
  @available(*, deprecated, renamed: "make(promising:in:)")
  public static func make<Success: Sendable>(
    promising type: Success.Type, on queue: OperationQueue?,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Success> {
    make(promising: type, in: queue, fileID: fileID, line: line)
  }

  /// Makes a future that succeeds after some time; use `delay(for:)`.
  ///
  /// - Parameter duration: The time until the future succeeds.
  @available(*, deprecated, renamed: "delay(for:)")
  public static func after(
    _ duration: Duration, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Void> {
    delay(for: duration, fileID: fileID, line: line)
  }

  /// Makes a future that succeeds after some time; use `delay(for:)`.
  ///
  /// - Parameter interval: The time until the future succeeds.
  @available(*, deprecated, renamed: "delay(for:)")
  @_disfavoredOverload
  public static func after(
    _ interval: DispatchTimeInterval, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Void> {
    delay(for: interval, fileID: fileID, line: line)
  }
}

extension Promise {
  /// Makes a promise; use ``Promises/make(promising:in:fileID:line:)``.
  ///
  /// - Parameter queue: A queue that the promise belongs to.
  @available(*, deprecated, message: "Use Promises.make(promising:in:).")
  public static func make(
    in queue: OperationQueue? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Success> {
    Promises.make(promising: Success.self, in: queue, fileID: fileID, line: line)
  }

  /// Makes a promise that belongs to a queue; use
  /// ``Promises/make(promising:in:fileID:line:)``.
  ///
  /// - Parameter queue: The queue that the promise belongs to.
  @available(*, deprecated, message: "Use Promises.make(promising:in:).")
  public static func make(
    on queue: OperationQueue?, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Success> {
    Promises.make(promising: Success.self, in: queue, fileID: fileID, line: line)
  }
}

extension Sequence {
  /// Waits for all futures of the sequence; use
  /// ``Promises/collect(_:failingFast:fileID:line:)``.
  ///
  /// - Parameter failingFast: `true` to fail as soon as one future fails, with its error.
  @available(*, deprecated, message: "Use Promises.collect(futures).")
  public func collectFutures<Success: Sendable>(
    failingFast: Bool = false, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<[Success]> where Element: Future<Success> {
    Promises.collect(self, failingFast: failingFast, fileID: fileID, line: line)
  }

  /// Takes the first success of the futures; use
  /// ``Promises/race(_:cancellingLosers:fileID:line:)``.
  ///
  /// - Parameter cancellingLosers: Whether the first success cancels the other futures.
  @available(*, deprecated, message: "Use Promises.race(futures).")
  public func raceFutures<Success: Sendable>(
    cancellingLosers: Bool = true, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> where Element: Future<Success> {
    Promises.race(self, cancellingLosers: cancellingLosers, fileID: fileID, line: line)
  }
}

extension Future where Success == Bool {
  /// Takes the first success of two futures, true or false: not a logical or.
  ///
  /// Deprecated, because it reads as one. (The compiler passes over an unavailable form, and
  /// takes the one for any value.)
  ///
  /// - Parameters:
  ///   - first: A future.
  ///   - second: Another future.
  @available(
    *, deprecated,
    message:
      "'||' takes the first success, true or false: use Promises.race([a, b]), or combine both futures for a logical or"
  )
  public static func || (first: Future, second: Future) -> Future {
    Promises.first(
      of: [first, second], needsSuccess: true, cancellingLosers: true, isAlternative: true,
      first.birthplace)
  }
}
