import ExampleSupport
import Foundation

/// The options of the program.
struct Options: Sendable {
  private(set) var folder = ""
  private(set) var run = "measure"
  private(set) var jobs = 4
  private(set) var seconds = "1"
  private(set) var partition: String?
  private var limit: Int?

  /// The limits of partitions.
  var limits: [String: Int] {
    guard let limit, let partition else { return [:] }
    return [partition: limit]
  }

  func check() throws(UsageError) {
    if folder.isEmpty { throw UsageError("name the folder that all nodes share") }
    if limit != nil, partition == nil { throw UsageError("--limit needs --partition") }
  }

  /// The arguments that the program takes.
  static var syntax: CommandSyntax<Options> {
    CommandSyntax(
      program: "slurm-demo", operands: "FOLDER",
      options: [
        .text(
          "-r", "--run", value: "NAME", needs: "a name",
          help: "the name of the run (default measure)"
        ) { $0.run = $1 },
        .number("-n", "--jobs", value: "N", in: 1...10_000, help: "submit N jobs (default 4)") {
          $0.jobs = $1
        },
        .decimal(
          "--seconds", value: "SECONDS", from: "0", to: "86400", of: " of seconds",
          help: "let each job take so long (default 1)"
        ) { $0.seconds = String($1) },
        .text(
          "-p", "--partition", value: "NAME", needs: "a partition",
          help: "submit to this partition"
        ) { $0.partition = $1 },
        .number(
          "-l", "--limit", value: "N", in: 1...10_000,
          help: "have at most N jobs in the partition at a time"
        ) { $0.limit = $1 },
      ],
      summary: """
        Runs measurements as jobs of a Slurm cluster and prints their sum. Killed and
        started again with the same FOLDER and run, it goes on: no measurement is made
        twice.
        """,
      details: """
        FOLDER is one that all nodes of the cluster share. The program keeps its journal
        there, and the scripts and outputs of the jobs.

        Exit code: 0 for success; 1 if a job failed; 2 for wrong usage; 130 after
        Ctrl-C, which cancels the jobs, and 128 + N after another signal N.
        """
    ) { options, argument throws(UsageError) in
      guard let text = argument.text, !text.isEmpty else {
        throw UsageError("'\(argument.visible)' is no name of a folder")
      }
      options.folder = text
    }
  }
}
