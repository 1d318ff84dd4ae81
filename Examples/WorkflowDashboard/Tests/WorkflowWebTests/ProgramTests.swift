import Foundation
import Properations
import TestSupport
import Testing

@testable import WorkflowDashboard

/// The workflows that the program shows, and its command line.
@Suite("The program WorkflowDashboard", .timeLimit(.minutes(1)))
struct ProgramTests {
  @Test(
    "A random graph has as many tasks as wanted, and is the same for the same seed",
    arguments: ["1.0", "6.1", "200.7", "1000.18446744073709551615"])
  func randomGraph(argument: String) throws {
    let graphs = try (0..<2).map { _ in try RandomGraph(argument: argument, speed: 1) }
    let descriptions = graphs.map(\.workflow.dot)
    #expect(descriptions[0] == descriptions[1])
    #expect(tasks(of: graphs[0].workflow).count == Int(argument.prefix { $0 != "." }))
  }

  private func tasks(of workflow: Workflow) -> [AnyWorkflowTask] {
    workflow.allTasks.flatMap { task in
      [task] + ((task as? SubworkflowTask<Workflow>).map { tasks(of: $0.subworkflow) } ?? [])
    }
  }

  @Test("Another seed makes another graph")
  func otherSeed() throws {
    let graphs = try ["200.7", "200.8"].map { try RandomGraph(argument: $0, speed: 1) }
    let shapes = graphs.map { graph in
      graph.workflow.allTasks.map { $0.prerequisiteTasks.map(\.name) }
    }
    #expect(shapes[0] != shapes[1])
  }

  @Test(
    "What describes no graph is an error",
    arguments: ["", "200", "0.1", "2001.1", "-1.1", "x.1", "200.x", "200.1.1", "200.-1", "🦊.1"])
  func noGraph(argument: String) {
    #expect(throws: RandomGraph.InvalidArgument.self) {
      try RandomGraph(argument: argument, speed: 1)
    }
  }

  /// Makes a journal of a report: two results, and a task that only has finished.
  private func makeJournal(in folder: URL) async throws -> URL {
    let file = folder.appendingPathComponent("report.journal")
    let workflow = Workflow(name: "report", context: .inline)
    let author = BlockWorkflowTask<String>(name: "a") { $0.finish(with: "<b>Ada</b>") }
      .journaled(as: "author")
    let pages = BlockWorkflowTask<[Int]>(name: "p") { $0.finish(with: [12, 7]) }
      .journaled(as: "pages", version: 3)
    let mail = BlockWorkflowTask<Void>(name: "m") { $0.finish() }.journaled(as: "mail")
    try workflow.add(author)
    try workflow.add(pages, prerequisites: author)
    try workflow.add(mail, prerequisites: author, pages)
    _ = try workflow.resume(from: WorkflowJournal(url: file))
    let outcome = try await workflow.run()
    #expect(outcome == .finished)
    workflow.closeJournal()
    return file
  }

  @Test("A journal is shown with its tasks, results, dependencies and times")
  func recorded() async throws {
    let folder = try TemporaryFolder("recorded")
    let file = try await makeJournal(in: folder.url)
    let before = try Data(contentsOf: file)
    let recorded = try RecordedWorkflow(journal: file)
    let tasks = recorded.workflow.allTasks
    #expect(tasks.map(\.name) == ["author", "pages", "mail"])
    #expect(tasks.map(\.isFinished) == [true, true, true])
    #expect(tasks[2].prerequisiteTasks.map(\.name).sorted() == ["author", "pages"])
    #expect(recorded.presentation.isReadOnly)
    #expect(recorded.presentation.result?(tasks[0]) == "<b>Ada</b>")
    #expect(recorded.presentation.result?(tasks[1]) == "[12,7]")
    let date = try #require(tasks[0].finishDate)
    #expect(abs(date.timeIntervalSinceNow) < 60)
    // The file itself is not touched.
    #expect(try Data(contentsOf: file) == before)
  }

  @Test(
    "A result is shown as it was recorded, to the last digit",
    arguments: [
      "18446744073709551615", "-9007199254740993", "0.1", "[1.5,null,true,\"a\"]", "1e+300",
      "{\"a\":{\"b\":[]}}",
    ])
  func exactResult(text: String) throws {
    let value = try JSONDecoder().decode(JSONText.self, from: Data(text.utf8))
    #expect(value.text == text)
  }

  @Test("A journal in use, or damaged at any place, is shown as far as it counts")
  func damaged() async throws {
    let folder = try TemporaryFolder("damaged")
    let file = try await makeJournal(in: folder.url)
    let whole = try Data(contentsOf: file)
    let damaged = folder.url.appendingPathComponent("damaged.journal")
    for place in stride(from: 0, to: whole.count, by: 7) {
      var bytes = whole
      bytes[place] ^= 0x20
      try bytes.write(to: damaged)
      // No state but finished is possible, or the task runs again: it is never wrong.
      guard let recorded = try? RecordedWorkflow(journal: damaged) else { continue }
      for task in recorded.workflow.allTasks where task.isFinished && task.name == "author" {
        #expect(recorded.presentation.result?(task) == "<b>Ada</b>")
      }
    }
  }

  @Test("A file that is no journal, or is not there, is an error that names it")
  func noJournal() throws {
    let folder = try TemporaryFolder("none")
    let file = folder.url.appendingPathComponent("notes.txt")
    for text in ["", "hello\n", "{}\n", "\u{0}\u{1}"] {
      try Data(text.utf8).write(to: file)
      #expect(throws: RecordedWorkflow.NotAJournal.self) { try RecordedWorkflow(journal: file) }
    }
    #expect(throws: TextFileError.self) {
      try RecordedWorkflow(journal: folder.url.appendingPathComponent("missing"))
    }
  }

  @Test(
    "Wrong usage is exit code 2",
    arguments: [["--port", "65536"], ["--speed", "0"], ["--colour"], ["file"], ["--journal"]])
  func wrongUsage(arguments: [String]) async throws {
    let outcome = try await Program("WorkflowDashboard").run(arguments)
    #expect(outcome.exitCode == 2)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.contains("Usage: WorkflowDashboard"))
  }

  @Test("A file that cannot be shown is one message and exit code 1")
  func unreadable() async throws {
    for option in ["--journal", "--build"] {
      let outcome = try await Program("WorkflowDashboard").run([option, "/nonexistent/file"])
      #expect(outcome.exitCode == 1)
      #expect(outcome.output.isEmpty)
      #expect(outcome.errors.contains("cannot read 'file'"))
      #expect(outcome.errors.count { $0 == "\n" } == 1)
    }
  }

  @Test("The help fits into 80 columns")
  func help() async throws {
    let outcome = try await Program("WorkflowDashboard").run(["--help"])
    #expect(outcome.exitCode == 0)
    #expect(outcome.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }
}
