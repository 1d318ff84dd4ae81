import Foundation
import Futures
import TestSupport
import Testing

/// Records the reports about futures that one test file has made.
///
/// The observer belongs to the process, so other tests may cause reports too.
final class DiagnosticsRecorder: DiagnosticsObserver {
  struct Reports {
    var failures: [LostFailure] = []
    var broken: [BrokenPromise] = []
    var repeated: [RepeatedSettlement] = []
    var stalled: [StalledMainQueue] = []
    var slow: [SlowClosure] = []
    var dropped = 0
  }

  private struct Sentinel: Error { let event: Event }

  private let fileID: String
  private let state = TestLock(Reports())
  private let react: @Sendable (LostFailure) -> Void
  let hasHeardOfMain = Event()

  init(fileID: String = #fileID, _ react: @escaping @Sendable (LostFailure) -> Void = { _ in }) {
    self.fileID = fileID
    self.react = react
  }

  /// The reports so far.
  var reports: Reports { state.withLock { $0 } }

  /// Installs the observer while a closure runs, and returns the reports when all have arrived.
  func recording(
    _ configuration: FuturesDiagnostics.Configuration = .init(mainQueueLimit: nil),
    _ body: () async throws -> Void
  ) async throws -> Reports {
    FuturesDiagnostics.install(self, configuration: configuration)
    defer { FuturesDiagnostics.uninstall() }
    try await body()
    await catchUp()
    return reports
  }

  /// Returns when all reports that were made until now have arrived: they come in order.
  func catchUp() async {
    while true {
      let event = Event()
      Self.lose(Sentinel(event: event))
      // A sentinel is dropped if too many reports wait.
      if await event.opened(within: .seconds(5)) { return }
    }
  }

  private static func lose(_ error: any Error) {
    _ = Promises.makeFailed(with: error, promising: Int.self)
  }

  func didLoseFailure(_ report: LostFailure) {
    if let sentinel = report.error as? Sentinel { return sentinel.event.signal() }
    guard report.createdAt.fileID == fileID else { return }
    state.withLock { $0.failures.append(report) }
    react(report)
  }

  func didBreakPromise(_ report: BrokenPromise) {
    if report.createdAt.fileID == fileID { state.withLock { $0.broken.append(report) } }
  }

  func didSettleAgain(_ report: RepeatedSettlement) {
    if report.createdAt.fileID == fileID { state.withLock { $0.repeated.append(report) } }
  }

  func mainQueueDoesNotRun(_ report: StalledMainQueue) {
    state.withLock { $0.stalled.append(report) }
    hasHeardOfMain.signal()
  }

  func closureWasSlow(_ report: SlowClosure) {
    if report.createdAt.fileID == fileID { state.withLock { $0.slow.append(report) } }
  }

  func didDropReports(_ count: Int) { state.withLock { $0.dropped += count } }
}
