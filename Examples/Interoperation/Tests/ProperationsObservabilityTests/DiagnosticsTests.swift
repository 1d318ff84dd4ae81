import InMemoryLogging
import Logging
import Metrics
import MetricsTestKit
import Properations
import ProperationsObservability
import TestSupport
import Testing

/// Serial, because a process has one observer.
///
/// Other suites may break promises meanwhile, so the counters have at least the own reports.
@Suite("Diagnostics in logs and metrics", .serialized, .timeLimit(.minutes(1)))
struct DiagnosticsTests {
  private let handler = InMemoryLogHandler()
  private let metrics = TestMetrics()
  private let logger: Logger

  init() {
    let handler = handler
    logger = Logger(label: "futures") { _ in handler }
  }

  private func installed(
    slowerThan limit: Duration? = nil, _ body: () async throws -> Void
  ) async rethrows {
    FuturesDiagnostics.install(
      MultiplexDiagnostics([
        LoggingDiagnostics(logger: logger), MetricsDiagnostics(factory: metrics),
      ]),
      configuration: .init(slowClosureLimit: limit))
    defer { FuturesDiagnostics.uninstall() }
    try await body()
  }

  /// Waits until the observer has logged a message with this future's name.
  private func entry(named name: String) async throws -> InMemoryLogHandler.Entry {
    func find() -> InMemoryLogHandler.Entry? {
      handler.entries.first { $0.metadata["future"] == "\(name)" }
    }
    #expect(await eventually { find() != nil })
    return try #require(find())
  }

  @Test("The example of the page: a broken promise is logged and counted")
  func brokenPromise() async throws {
    let logger = logger
    let metrics = metrics
    FuturesDiagnostics.install(
      MultiplexDiagnostics([
        LoggingDiagnostics(logger: logger), MetricsDiagnostics(factory: metrics),
      ]))
    defer { FuturesDiagnostics.uninstall() }

    _ = Promise<Int>(name: "answer")

    let entry = try await entry(named: "answer")
    #expect(entry.level == .error)
    #expect(entry.metadata["created-at"]?.description.contains("DiagnosticsTests") == true)
    let counter = try metrics.expectCounter("properations.broken_promises")
    #expect(await eventually { counter.totalValue >= 1 })
  }

  @Test("A lost failure is logged as a warning with its error, and counted")
  func lostFailure() async throws {
    try await installed {
      do {
        let promise = Promise<Int>(name: "lost")
        promise.fail(with: TestError.first)
      }
      let entry = try await entry(named: "lost")
      #expect(entry.level == .warning)
      #expect(entry.metadata["error"] == "first")
      let counter = try metrics.expectCounter("properations.lost_failures")
      #expect(await eventually { counter.totalValue >= 1 })
    }
  }

  @Test("A second settlement is logged with its error, and counted")
  func settledAgain() async throws {
    try await installed {
      let promise = Promise<Int>(name: "twice")
      promise.succeed(with: 1)
      promise.fail(with: TestError.second)
      let entry = try await entry(named: "twice")
      #expect(entry.level == .warning)
      #expect(entry.metadata["error"] == "second")
      let counter = try metrics.expectCounter("properations.repeated_settlements")
      #expect(await eventually { counter.totalValue >= 1 })
    }
  }

  @Test("A slow closure is logged as a notice, and its duration recorded")
  func slowClosure() async throws {
    try await installed(slowerThan: .zero) {
      _ = try await Promises.makeSucceeded(with: 1).mapToValue(on: .global()) { $0 }.value
      #expect(await eventually { handler.entries.contains { $0.level == .notice } })
      let timer = try metrics.expectTimer("properations.slow_closures")
      #expect(await eventually { timer.values.contains { $0 >= 0 } })
    }
  }

  @Test("Dropped reports are logged with their number, and counted")
  func droppedReports() throws {
    let observer = MultiplexDiagnostics([
      LoggingDiagnostics(logger: logger), MetricsDiagnostics(prefix: "app", factory: metrics),
    ])
    observer.didDropReports(12)
    #expect(handler.entries.map(\.metadata) == [["count": "12"]])
    #expect(try metrics.expectCounter("app.dropped_reports").totalValue == 12)
  }

  @Test("A future whose failure is handled is neither logged nor counted")
  func handled() async throws {
    try await installed {
      do {
        let promise = Promise<Int>(name: "handled")
        promise.fail(with: TestError.first)
        _ = promise.error
      }
      // Reports come in order: after this one, the other would have come.
      _ = Promise<Int>(name: "last")
      _ = try await entry(named: "last")
      #expect(!handler.entries.contains { $0.metadata["future"] == "handled" })
    }
  }
}
