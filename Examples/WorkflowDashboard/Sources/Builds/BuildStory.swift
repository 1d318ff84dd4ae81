import ExampleSupport
import Foundation
import Properations

/// A build of `Examples/BuildGraph`, for programs that show it otherwise.
///
/// The commands and their results are reported on standard output, as `BuildGraph` does.
package final class BuildStory: Sendable {
  /// The error for a description that cannot be built; the text is for people.
  package struct Unusable: Error, LocalizedError {
    package let errorDescription: String?
  }

  /// The workflow, with a task for each target.
  package var workflow: Workflow { graph.workflow }

  private let graph: Graph
  private let shell: Shell
  private let journal: Journal
  private let reporter: Reporter

  /// Plans a build, and makes the folder of the description the current folder.
  package init(of file: URL) throws {
    let folder = Folder(url: file.deletingLastPathComponent())
    let name = file.lastPathComponent
    let description: Description
    let plan: Plan
    do {
      guard let text = String(validating: try TextFile.read(file.path), as: UTF8.self) else {
        throw Unusable(errorDescription: "'\(name)' is not UTF-8")
      }
      description = try Description(text)
      plan = try Plan(description, targets: []) { folder.stamp(of: $0) != nil }
    } catch let error as SystemError {
      throw Unusable(errorDescription: "cannot read '\(name)': \(error)")
    } catch let problems as Description.Problems {
      let list = problems.list.map { "\(name):\($0)" }.joined(separator: "\n")
      throw Unusable(errorDescription: list)
    }
    // The layout of the page starts processes, too.
    shell = Shell(isAlone: false)
    let state = folder.url.appendingPathComponent(".\(name).state").path
    journal = try Journal(path: state, keeping: Set(description.rules.map(\.target)))
    shell.keepOpen(journal.descriptor)
    let transcript = Transcript(.usual)
    let builder = Builder(
      in: folder, journal: journal, shell: shell, transcript: transcript, keepsGoing: true)
    graph = try Graph(of: plan, name: name, build: builder.build)
    graph.workflow.maxConcurrentTaskCount = ProcessInfo.processInfo.activeProcessorCount
    reporter = Reporter(of: graph, in: transcript, .usual)
    try systemCall { chdir(folder.url.path) }
  }

  /// Ends the commands that run, and lets other programs build.
  package func end() async {
    graph.workflow.cancel()
    await shell.waitForEnd()
    shell.close()
    journal.unlock()
  }
}

extension Builder.CommandFailed: LocalizedError {
  var errorDescription: String? { "the commands ended with \(outcome.end)" }
}
