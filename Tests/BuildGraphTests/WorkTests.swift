import Foundation
import TestSupport
import Testing

@testable import BuildGraph

/// How much work a build of many targets is.
@Suite("BuildGraph, the work per target", .timeLimit(.minutes(5)), .oneAtATime)
struct WorkTests {
  /// What a build has written and read.
  private struct Work: Equatable {
    /// The lines of the state file.
    let lines: Int
    /// How often the status of a file was read.
    let statuses: Int
  }

  /// Builds targets that need a file and the target before them, twice.
  private func work(ofTargets count: Int) async throws -> [Work] {
    let temporary = try TemporaryFolder("BuildGraphTests")
    try temporary.write("", to: "source")
    let text = (1...count).map { "t\($0): source \($0 > 1 ? "t\($0 - 1)" : "")\n  true\n" }
    let description = try Description(text.joined())
    var work: [Work] = []
    for _ in 1...2 {
      let statuses = Counter()
      var folder = Folder(url: temporary.url)
      folder.read = { path in
        statuses.add()
        return Stamp(ofFile: path)
      }
      let plan = try Plan(description, targets: []) { [folder] in folder.stamp(of: $0) != nil }
      let state = folder.state(of: "Buildfile")
      let journal = try Journal(path: state, keeping: Set(description.rules.map(\.target)))
      let (shell, transcript) = (Shell(isAlone: false), Transcript(.quiet))
      let builder = Builder(
        in: folder, journal: journal, shell: shell, transcript: transcript, keepsGoing: false)
      let graph = try Graph(of: plan, name: "Buildfile", build: builder.build)
      let reporter = Reporter(of: graph, in: transcript, .quiet)
      #expect(try await graph.workflow.run().isFinished)
      withExtendedLifetime(reporter) {}
      shell.close()
      journal.unlock()
      let lines = try Data(contentsOf: URL(fileURLWithPath: state)).count { $0 == 0x0A }
      work.append(Work(lines: lines, statuses: statuses.value))
    }
    return work
  }

  @Test("A target is as much work in a build of many as in a build of few")
  func flat() async throws {
    let (few, many) = (10, 40)
    let (workOfFew, workOfMany) = (
      try await work(ofTargets: few), try await work(ofTargets: many)
    )
    // The first build writes two lines for each target; it looks at the source when it
    // plans and when it builds, and at the target before and after its commands.
    #expect(workOfFew[0] == Work(lines: 2 * few, statuses: 4 * few))
    #expect(workOfMany[0] == Work(lines: 2 * many, statuses: 4 * many))
    // The second build keeps one line of each target, and finds nothing to do.
    #expect(workOfMany[1].lines * few == workOfFew[1].lines * many)
    #expect(workOfMany[1].statuses * few == workOfFew[1].statuses * many)
  }
}
