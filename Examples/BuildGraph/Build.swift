import ExampleSupport
import Foundation

/// A build that can begin: the workflow of a plan, and what its commands need.
struct Build: Sendable {
  let graph: Graph
  let reporter: Reporter
  private let shell: Shell
  private let journal: Journal

  /// Prepares a build.
  ///
  /// The commands run in the folder of the description, so that becomes the current folder.
  /// Relative paths lead elsewhere afterwards.
  init(
    of plan: Plan, _ description: Description, named name: String, in folder: Folder,
    shell: Shell, _ detail: Options.Detail, keepsGoing: Bool, launcher: [String] = []
  ) throws {
    self.shell = shell
    journal = try Journal(
      path: folder.state(of: name), keeping: Set(description.rules.map(\.target)))
    shell.keepOpen(journal.descriptor)
    let transcript = Transcript(detail)
    let builder = Builder(
      in: folder, journal: journal, shell: shell, transcript: transcript, keepsGoing: keepsGoing,
      launcher: launcher)
    graph = try Graph(of: plan, name: name, build: builder.build)
    reporter = Reporter(of: graph, in: transcript, detail)
    try systemCall { chdir(folder.url.path) }
  }

  /// Lets other programs build, when no command runs any more.
  func close() {
    shell.close()
    journal.unlock()
  }
}
