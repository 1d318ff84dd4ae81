import ExampleSupport
import Foundation

/// The options of the program.
struct Options: Sendable {
  private(set) var port: UInt16 = 0
  private(set) var hosts: [String] = []
  private(set) var seed: UInt64 = 7
  private(set) var speed = 1.0
  private(set) var failures: Double?
  private(set) var journals: [String] = []
  private(set) var build: String?

  /// The arguments that the program takes.
  static var syntax: CommandSyntax<Options> {
    CommandSyntax(
      program: "WorkflowDashboard",
      options: [
        .number(
          "-p", "--port", value: "N", in: 0...UInt16.max,
          help: "listen on this port (default: a free one)"
        ) { $0.port = $1 },
        .text(
          "--host", value: "NAME", needs: "the name of a host",
          help: """
            listen on the network as well, and be reached under this name; without it only \
            programs on this machine reach the page
            """
        ) { $0.hosts.append($1) },
        .number(
          "--seed", value: "N", in: 0...UInt64.max,
          help: "decide which steps of the order fail (default 7)"
        ) { $0.seed = $1 },
        .decimal(
          "--failures", value: "P", from: "0", to: "1",
          help: "make each step of the order fail with this probability"
        ) { $0.failures = $1 },
        .decimal(
          "--speed", value: "X", from: "0.01", to: "1000",
          help: "let the order and random graphs run X times as fast"
        ) { $0.speed = $1 },
        .text(
          "--journal", value: "FILE", needs: "the name of a file",
          help: "show what a journal has recorded; may be repeated"
        ) { $0.journals.append($1) },
        .text(
          "--build", value: "FILE", needs: "the name of a file",
          help: "show a build description of BuildGraph, ready to be built"
        ) { $0.build = $1 },
      ],
      summary: """
        Serves a page on which one sees workflows live, and controls them: the order of
        OrderWorkflow, random graphs, builds of BuildGraph, and journals.
        """,
      details: """
        The program prints the address of the page and runs until Ctrl-C. The address
        contains a token, without which the page only shows.

        Exit code: 0 after Ctrl-C; 1 if the page cannot be served or a file cannot be
        read; 2 for wrong usage.
        """)
  }
}
