import Logging
import Properations

/// Logs the mistakes that futures report.
///
/// ```swift
/// FuturesDiagnostics.install(LoggingDiagnostics(logger: Logger(label: "futures")))
/// ```
///
/// A broken promise is an error, a slow closure a notice, everything else a warning. The
/// message says what happened and what to do. The metadata has the place and the name of the
/// future, for filters.
public struct LoggingDiagnostics: DiagnosticsObserver {
  private let logger: Logger

  /// Makes an observer that logs.
  ///
  /// - Parameter logger: Gets the messages.
  public init(logger: Logger) { self.logger = logger }

  /// Logs a warning.
  public func didLoseFailure(_ report: LostFailure) {
    log(.warning, report, at: report.createdAt, name: report.name, error: report.error)
  }

  /// Logs an error.
  public func didBreakPromise(_ report: BrokenPromise) {
    log(.error, report, at: report.createdAt, name: report.name)
  }

  /// Logs a warning.
  public func didSettleAgain(_ report: RepeatedSettlement) {
    log(.warning, report, at: report.createdAt, name: report.name, error: report.secondError)
  }

  /// Logs a warning.
  public func mainQueueDoesNotRun(_ report: StalledMainQueue) {
    log(.warning, report, at: report.createdAt)
  }

  /// Logs a notice.
  public func closureWasSlow(_ report: SlowClosure) {
    log(.notice, report, at: report.createdAt)
  }

  /// Logs a warning.
  public func didDropReports(_ count: Int) {
    logger.warning("Reports about futures were dropped.", metadata: ["count": "\(count)"])
  }

  private func log(
    _ level: Logger.Level, _ report: some CustomStringConvertible, at place: CreationSite,
    name: String? = nil, error: (any Error)? = nil
  ) {
    var metadata: Logger.Metadata = ["created-at": "\(place)"]
    if let name { metadata["future"] = "\(name)" }
    if let error { metadata["error"] = "\(error)" }
    logger.log(level: level, "\(report.description)", metadata: metadata)
  }
}
