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
  package var workflow: Workflow { build.graph.workflow }

  private let shell: Shell
  private let build: Build

  /// Plans a build, and makes the folder of the description the current folder.
  package init(of file: URL) throws {
    let folder = Folder(url: file.deletingLastPathComponent())
    let name = file.lastPathComponent
    let description: Description
    let plan: Plan
    do {
      description = try Description(file: file)
      plan = try Plan(description, targets: []) { folder.stamp(of: $0) != nil }
    } catch let error as SystemError {
      throw Unusable(errorDescription: "cannot read '\(name)': \(error)")
    } catch is Description.NotText {
      throw Unusable(errorDescription: "'\(name)' is not UTF-8")
    } catch let problems as Description.Problems {
      let list = problems.list.map { "\(name):\($0)" }.joined(separator: "\n")
      throw Unusable(errorDescription: list)
    }
    // The layout of the page starts processes, too.
    shell = Shell(isAlone: false)
    build = try Build(
      of: plan, description, named: name, in: folder, shell: shell, .usual, keepsGoing: true)
    workflow.maxConcurrentTaskCount = ProcessInfo.processInfo.activeProcessorCount
  }

  /// Ends the commands that run, and lets other programs build.
  package func end() async {
    workflow.cancel()
    await shell.waitForEnd()
    build.close()
  }
}

extension Builder.CommandFailed: LocalizedError {
  var errorDescription: String? { "the commands ended with \(outcome.end)" }
}
