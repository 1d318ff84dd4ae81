import Metrics
import Properations

/// Counts the mistakes that futures report.
///
/// The counters are `properations.lost_failures`, `properations.broken_promises`,
/// `properations.repeated_settlements`, `properations.main_queue_stalls` and
/// `properations.dropped_reports`. The timer `properations.slow_closures` has the durations of
/// slow closures.
public struct MetricsDiagnostics: DiagnosticsObserver {
  private let lostFailures: Counter
  private let brokenPromises: Counter
  private let repeatedSettlements: Counter
  private let mainQueueStalls: Counter
  private let droppedReports: Counter
  private let slowClosures: Timer

  /// Makes an observer that counts.
  ///
  /// - Parameters:
  ///   - prefix: The beginning of the labels.
  ///   - factory: Makes the counters; that of the process by default.
  public init(
    prefix: String = "properations", factory: any MetricsFactory = MetricsSystem.factory
  ) {
    func counter(_ name: String) -> Counter {
      Counter(label: "\(prefix).\(name)", factory: factory)
    }
    lostFailures = counter("lost_failures")
    brokenPromises = counter("broken_promises")
    repeatedSettlements = counter("repeated_settlements")
    mainQueueStalls = counter("main_queue_stalls")
    droppedReports = counter("dropped_reports")
    slowClosures = Timer(label: "\(prefix).slow_closures", factory: factory)
  }

  /// Counts the failure.
  public func didLoseFailure(_ report: LostFailure) { lostFailures.increment() }

  /// Counts the promise.
  public func didBreakPromise(_ report: BrokenPromise) { brokenPromises.increment() }

  /// Counts the settlement.
  public func didSettleAgain(_ report: RepeatedSettlement) { repeatedSettlements.increment() }

  /// Counts the report.
  public func mainQueueDoesNotRun(_ report: StalledMainQueue) { mainQueueStalls.increment() }

  /// Records the duration.
  public func closureWasSlow(_ report: SlowClosure) {
    slowClosures.record(duration: report.duration)
  }

  /// Adds the number of the reports.
  public func didDropReports(_ count: Int) { droppedReports.increment(by: count) }
}
