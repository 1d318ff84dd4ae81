import Foundation
import Properations
import TestSupport
import Testing

@Suite("Workflows", .timeLimit(.minutes(5)), .oneAtATime)
struct WorkflowsSnippets {
  @Test("A workflow of three tasks")
  func report() async throws {
    let published = Log<String?>()
    @Sendable func countPages(by author: String) async throws -> Int { author.count }
    func publish(_ report: String?) { published.append(report) }

    let workflow = Workflow(name: "Report")

    let author = try workflow.add("author") { "Ada" }
    let pages = try workflow.add("pages", after: author) { author in
      try await countPages(by: author)
    }
    let report = try workflow.add("report", after: author, pages) { author, pages in
      "\(pages) pages by \(author)"
    }

    guard try await workflow.run().isFinished else { return }
    publish(report.result)

    #expect(published.entries == ["3 pages by Ada"])
  }

  @Test("Tasks that run when others have failed, or clean up")
  func rules() async throws {
    struct File: Sendable { let size: Int }
    let (workflow, log) = (Workflow(name: "Rules"), Log<String>())
    @Sendable func makeFile() throws -> File { File(size: 1) }
    @Sendable func send(_ file: File) async throws { throw TestError.first }
    @Sendable func report(_ error: any Error) { log.append("\(error)") }
    @Sendable func remove(_ file: File) throws { log.append("removed") }

    let file = try workflow.add("file") { try makeFile() }
    let upload = try workflow.add("upload", after: file) { file in
      guard file.size > 0 else { throw TaskSkipped() }
      return try await send(file)
    }
    try workflow.add("alert", after: upload, when: .whenAnyFails) { upload in
      if case .failure(let error) = upload { report(error) }
    }
    try workflow.add("clean up", after: file, upload, when: .whenAllDone) { file, _ in
      if case .success(let file) = file { try remove(file) }
    }

    #expect(try await workflow.run() == .failed([upload: TestError.first]))
    #expect(log.entries.sorted() == ["first", "removed"])
  }

  @Test("Limits, pauses and time")
  func control() async throws {
    let workflow = Workflow(name: "Control")
    let pages = try (1...3).map { number in try workflow.add("page \(number)") { number } }

    workflow.maxConcurrentTaskCount = 8  // of all tasks, and those of workflows inside
    workflow.limit("network", to: 2)  // of the tasks of a group
    for page in pages { page.limitName = "network" }
    workflow.failFast = true  // the first failure cancels what goes on
    workflow.timeout = .seconds(60)  // for the whole run

    workflow.pause()  // nothing new begins
    let outcome = workflow.start()
    workflow.resume()

    #expect(try await outcome.value.isFinished)
  }

  @Test("A limit for a group of tasks")
  func namedLimit() async throws {
    let workflow = Workflow(name: "Pages")
    let pages = try (1...3).map { number in try workflow.add("page \(number)") { number } }

    workflow.limit("network", to: 4)
    for page in pages { page.limitName = "network" }

    #expect(try await workflow.run().isFinished)
  }

  @Test("Forms of inputs")
  func forms() async throws {
    struct Settings: Sendable { let name = "session" }
    let (workflow, settings, sent) = (Workflow(name: "Forms"), Settings(), Log<String>())
    @Sendable func send(_ text: String, isRepeated: Bool) throws { sent.append(text) }

    let session = try workflow.add("session", on: .main) { settings.name }  // where it runs
    let parts = try (1...3).map { number in
      try workflow.add("part \(number)", after: session) { _ in number }
    }
    let sum = try workflow.add("sum", after: parts) { numbers in numbers.reduce(0, +) }
    try workflow.add(
      "upload", after: sum,
      run: { run, sum in
        try send("\(sum)", isRepeated: run.attempt > 1)
      })

    #expect(try await workflow.run().isFinished)
    #expect(sent.entries == ["6"] && session.result == "session")
  }
}
