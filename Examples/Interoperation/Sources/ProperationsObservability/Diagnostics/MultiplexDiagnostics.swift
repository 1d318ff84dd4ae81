import Properations

/// Passes each report on to several observers, in their order.
///
/// A process has one observer. To log and to count, install both as one:
///
/// ```swift
/// FuturesDiagnostics.install(
///   MultiplexDiagnostics([LoggingDiagnostics(logger: logger), MetricsDiagnostics()]))
/// ```
public struct MultiplexDiagnostics: DiagnosticsObserver {
  private let observers: [any DiagnosticsObserver]

  /// Makes one observer of several.
  ///
  /// - Parameter observers: Get each report one after the other.
  public init(_ observers: [any DiagnosticsObserver]) { self.observers = observers }

  /// Passes the report on.
  public func didLoseFailure(_ report: LostFailure) {
    for observer in observers { observer.didLoseFailure(report) }
  }

  /// Passes the report on.
  public func didBreakPromise(_ report: BrokenPromise) {
    for observer in observers { observer.didBreakPromise(report) }
  }

  /// Passes the report on.
  public func didSettleAgain(_ report: RepeatedSettlement) {
    for observer in observers { observer.didSettleAgain(report) }
  }

  /// Passes the report on.
  public func mainQueueDoesNotRun(_ report: StalledMainQueue) {
    for observer in observers { observer.mainQueueDoesNotRun(report) }
  }

  /// Passes the report on.
  public func closureWasSlow(_ report: SlowClosure) {
    for observer in observers { observer.closureWasSlow(report) }
  }

  /// Passes the number on.
  public func didDropReports(_ count: Int) {
    for observer in observers { observer.didDropReports(count) }
  }
}
