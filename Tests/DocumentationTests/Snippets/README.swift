import Foundation
import Properations
import TestSupport
import Testing

@Suite("README", .timeLimit(.minutes(5)), .oneAtATime)
struct READMESnippets {
  /// Not run here, for it prints; `.ci/run` runs it in a package of its own.
  @MainActor
  func firstProgram() async throws {
    /// How many lines of text a file has, not counting empty ones.
    func countLines(of file: URL) -> Future<Int> {
      Promises.run(on: .global()) { try String(contentsOf: file, encoding: .utf8) }
        .mapToValue(on: .global()) { text in text.split(whereSeparator: \.isNewline).count }
        .recover(on: .inline) { _ in 0 }  // A folder, or not text.
    }

    let folder = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)

    let report = Promises.makeSucceeded(with: files)
      .mapElementsToFuture(maxConcurrent: 8) { file in countLines(of: file) }
      .mapToValue { counts in "\(counts.reduce(0, +)) lines in \(counts.count) files" }
      .timeout(after: .seconds(10))

    print(try await report.value)
  }

  @Test("The workflow prints what the README says, and draws its picture")
  @MainActor
  func workflowProgram() async throws {
    let printed = Log<String>()
    func print(_ outcome: WorkflowOutcome, _ dash: String, _ report: String) {
      printed.append("\(outcome) \(dash) \(report)")
    }

    let workflow = Workflow(name: "Report")

    let author = try workflow.add("author") { "Ada" }
    let pages = try workflow.add("pages", after: author) { author in [12, 7, 30] }
    // Waits for a person, or for whatever else happens outside.
    let approval = try workflow.add(
      ExternalConditionTask<String>(name: "approval", waitsForFulfillment: true))
    let report = try workflow.add("report", after: author, pages, approval) { author, pages, name in
      // A String, an [Int] and a String: no casts, no optionals.
      "\(pages.reduce(0, +)) pages by \(author), approved by \(name)"
    }

    let outcome = workflow.start()
    approval.fulfill(with: "Grace")
    print(try await outcome.value, "-", report.result ?? "no report")

    let readme = try Documents.text(of: "README.md")
    let line = try #require(printed.entries.first)
    #expect(readme.contains("It prints `\(line)`."))
    let blocks = try CodeBlock.all(inMarkdown: readme, of: "README.md")
    let picture = try #require(blocks.first { $0.language == "mermaid" })
    #expect(picture.lines.joined(separator: "\n") + "\n" == workflow.mermaid)
  }
}
