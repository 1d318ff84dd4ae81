/// Hears of mistakes that leave no other trace: failures that no code looked at, dropped
/// promises, promises that were settled twice, a main queue that does not run, slow closures.
///
/// Every requirement has a default that does nothing, so implement only what you need:
///
/// ```swift
/// struct FailureLog: DiagnosticsObserver {
///   func didLoseFailure(_ report: LostFailure) { logger.log("\(report)") }
///   func didBreakPromise(_ report: BrokenPromise) { logger.log("\(report)") }
/// }
/// ```
///
/// Install the observer for the process with ``FuturesDiagnostics/install(_:configuration:)``.
///
/// The library calls the observer on a serial dispatch queue of its own, one report at a time,
/// in the order of the events. It never calls the observer under a lock, or within the code
/// that made the mistake. So the observer may call the whole library: it may wait for futures,
/// settle them, and install another observer. An observer that blocks delays later reports,
/// and nothing else.
///
/// The idea is that of JavaScript's `unhandledrejection` event and of .NET's
/// `UnobservedTaskException`.
public protocol DiagnosticsObserver: Sendable {
  /// Called when the last reference to a failed future is gone, and no code has looked at the
  /// error.
  ///
  /// See ``LostFailure`` for what counts as looking.
  func didLoseFailure(_ report: LostFailure)

  /// Called when a promise was released before it was settled.
  func didBreakPromise(_ report: BrokenPromise)

  /// Called when a promise that had settled was settled again.
  func didSettleAgain(_ report: RepeatedSettlement)

  /// Called when a closure has waited too long for the main queue.
  func mainQueueDoesNotRun(_ report: StalledMainQueue)

  /// Called when a closure ran longer than the configured limit.
  func closureWasSlow(_ report: SlowClosure)

  /// Called when reports were dropped, because too many were waiting.
  ///
  /// At most 10,000 reports wait for the observer.
  ///
  /// - Parameter count: The number of reports dropped since the last call.
  func didDropReports(_ count: Int)
}

extension DiagnosticsObserver {
  /// Does nothing.
  public func didLoseFailure(_ report: LostFailure) {}
  /// Does nothing.
  public func didBreakPromise(_ report: BrokenPromise) {}
  /// Does nothing.
  public func didSettleAgain(_ report: RepeatedSettlement) {}
  /// Does nothing.
  public func mainQueueDoesNotRun(_ report: StalledMainQueue) {}
  /// Does nothing.
  public func closureWasSlow(_ report: SlowClosure) {}
  /// Does nothing.
  public func didDropReports(_ count: Int) {}
}
