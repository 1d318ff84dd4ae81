import Foundation
import Properations
import TestSupport
import Testing

private struct Logger: Sendable {
  let lines = Log<String>()
  func log(_ line: String) { lines.append(line) }
}

private let logger = Logger()
private let printed = Log<String>()
private func print(_ value: Any) { printed.append("\(value)") }

struct FailureLog: DiagnosticsObserver {
  func didLoseFailure(_ report: LostFailure) { logger.log("\(report)") }
  func didBreakPromise(_ report: BrokenPromise) { logger.log("\(report)") }
}

private func upload(_ report: Future<Int>) -> Future<Int> {
  Promises.makeFailed(with: CocoaError(.userCancelled), promising: Int.self)
}

@Suite("Diagnostics", .timeLimit(.minutes(5)), .alone)
struct DiagnosticsSnippets {
  @Test("The article shows what the program prints")
  func explain() async throws {
    let fetched = Promises.makeSucceeded(with: Data([1, 2]))
    func fetch(_ url: URL) -> Future<Data> { fetched }

    let disk = OperationQueue()
    disk.name = "disk"
    disk.maxConcurrentOperationCount = 1
    disk.isSuspended = true

    let size = fetch(url).mapToValue(on: disk) { data in data.count }
    let limit = Promise<Int>(name: "limit")
    let isTooLarge = Promises.combine(size, limit).mapToValue { size, limit in size > limit }
    print(isTooLarge.explain())

    // The lines of this file are not those of the article's program.
    let first = #line - 12
    var text = try #require(printed.entries.first { $0.contains("limit") })
    for line in 1...9 {
      text = text.replacingOccurrences(
        of: "\(#fileID):\(first + line)\n", with: "App/Sizes.swift:\(line)\n")
    }
    let article = try Documents.text(of: "Sources/Futures/Futures.docc/Diagnostics.md")
    #expect(article.contains("```\n\(text)\n```"), "\(text)")

    disk.isSuspended = false
    limit.succeed(with: 1)
    #expect(try await isTooLarge.value)
  }

  @Test("A log of failures")
  func observe() async throws {
    FuturesDiagnostics.install(FailureLog())
    defer { FuturesDiagnostics.uninstall() }
    func lose() {
      _ = Promises.makeFailed(with: CocoaError(.fileNoSuchFile), promising: Int.self)
    }
    lose()
    #expect(await eventually { logger.lines.entries.contains { $0.contains("Diagnostics.swift") } })
    FuturesDiagnostics.install(
      FailureLog(),
      configuration: .init(mainQueueLimit: .seconds(2), slowClosureLimit: .milliseconds(100)))
    let waiting = Promise<Int>(name: "waiting")
    for promise in Promises.pending(olderThan: .seconds(60)) { logger.log("\(promise)") }
    #expect(Promises.pending().contains { $0.name == "waiting" })
    waiting.succeed(with: 1)
  }

  @Test("A recording of closures and a workflow")
  func record() async throws {
    let queue = OperationQueue()
    func makeReport() -> Future<Int> { queue.run { 1 } }
    let path = NSTemporaryDirectory() + "trace-\(UUID()).json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let workflow = Workflow(name: "daily")
    try workflow.add("load") { 1 }
    _ = await workflow.start().completion

    let recorder = TraceRecorder()
    recorder.start()
    let report = try await makeReport().value
    recorder.stop()
    try recorder.json.write(toFile: path, atomically: true, encoding: .utf8)
    #expect(report == 1)
    _ = try TraceEvent.all(in: String(contentsOfFile: path, encoding: .utf8))

    recorder.add(workflow)
    let events = try TraceEvent.all(in: recorder.json)
    #expect(events.contains { $0.name == "load" && $0.phase == "X" })
  }

  @Test("A failure that may be lost")
  func ignore() {
    let report = Promises.makeSucceeded(with: 1)
    upload(report).ignoreFailure()
    print(report.explain())
    #expect(printed.entries.last?.contains("It has succeeded.") == true)
  }
}
