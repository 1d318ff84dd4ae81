import ExampleSupport
import Foundation
import Properations
import TestSupport
import Testing

@testable import MediaIngest

/// Cancelling an ingest, and continuing it.
@Suite("Cancellation", .timeLimit(.minutes(5)), .oneAtATime)
struct CancellationTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    for name in ["a", "b", "c"] { try folder.write(name, to: "in/\(name)") }
    try folder.makeSparseFile("in/large", size: 1 << 40)
    for name in ["x", "y"] { try folder.write(name, to: "in/\(name)") }
  }

  @Test("An ingest that is cancelled in the middle keeps what is done, and the next one goes on")
  func inTheMiddle() async throws {
    let summary = try await cancelledIngest()
    #expect(summary.counts == [3, 0, 0])
    #expect(summary.problems.isEmpty)
    #expect(!summary.isComplete)
    #expect(summary.text.contains("Interrupted after 3 of 6 files."))
    #expect(try folder.output() == ["a.json", "b.json", "c.json"])

    try folder.write("short now", to: "in/large")
    let rest = try await ingest(folder)
    #expect(rest.counts == [3, 3, 0])
    #expect(rest.isComplete)
  }

  /// Cancels an ingest; the output is unlocked when this returns.
  private func cancelledIngest() async throws -> Summary {
    let ingesting = try Ingesting(folder, options: ["--jobs", "1"])
    let tasks = ingesting.start()
    while ingesting.ledger.summary.bytesRead < 1 << 20 {
      try await Task.sleep(for: .milliseconds(1))
    }
    ingesting.queue.cancelAllTasks()
    let summary = await ingesting.end(tasks)
    #expect(tasks.isCancelled)
    return summary
  }

  @Test("An ingest that is cancelled before it begins writes nothing")
  func before() async throws {
    let ingesting = try Ingesting(folder)
    ingesting.queue.isSuspended = true
    let tasks = ingesting.start()
    ingesting.queue.cancelAllTasks()
    ingesting.queue.isSuspended = false
    let summary = await ingesting.end(tasks)
    #expect(!summary.hasBegun)
    #expect(summary.text.isEmpty)
    #expect(summary.problems.isEmpty)
    #expect(throws: SystemError(code: ENOENT)) { try FileStatus(of: folder.path("out")) }
  }

  @Test("A file is waited for between two attempts no longer than until it is cancelled")
  func betweenAttempts() async throws {
    try folder.remove("in/large")
    var ingesting = try Ingesting(folder)
    let attempted = Event()
    ingesting.plan.delays = { _ in .seconds(3600) }
    ingesting.plan.open = { file throws(Problem) in
      attempted.signal()
      throw Problem(changed: file.name)
    }
    let tasks = ingesting.start()
    #expect(await attempted.opened())
    ingesting.queue.cancelAllTasks()
    let summary = await ingesting.end(tasks)
    #expect(summary.written == 0)
    #expect(!summary.isComplete)
  }
}
