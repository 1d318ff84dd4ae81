import ExampleSupport
import Foundation

/// What the program is asked to do.
struct Options: Sendable {
  /// A language for graphs.
  enum Drawing: Sendable {
    case dot, mermaid
  }

  private(set) var isAutomatic = false
  private(set) var isPlain = false
  private(set) var seed = UInt64.random(in: 0...9999)
  /// How fast time goes; `nil` for the usual.
  private(set) var speed: Double?
  /// How likely each step is to fail; `nil` for the usual.
  private(set) var failures: Double?
  private(set) var drawing: Drawing?
  private(set) var traceFile: String?

  /// The arguments that the program takes.
  static var syntax: CommandSyntax<Options> {
    CommandSyntax(
      program: "OrderWorkflow", options: options,
      summary: """
        Orders a product with two photos. Seven tasks form a workflow: a project is
        created, both photos are uploaded as soon as they and the project are there, and
        the order is submitted when both uploads and the metadata are. Work takes time
        and fails by chance; photos and metadata come from you.
        """,
      details: """
        Keys: a task's number does what can be done with it: provide it, start, cancel,
        retry or reset it. s starts, c cancels, r retries and x resets everything; q
        leaves. Ctrl-C leaves at once.

        Without a terminal the same keys are read as lines from standard input, one
        whenever nothing goes on by itself; and what is printed is the same for the same
        seed and the same keys.

        Exit code: 0 if everything has finished; 1 if not, or if a file could not be
        written; 2 for wrong usage; 130 after Ctrl-C, and 128 + N after another
        signal N.
        """)
  }

  private static var options: [CommandOption<Options>] {
    [
      .flag(
        "--auto",
        help: """
          provide photos and metadata by itself, retry what has failed until it has been \
          tried three times, and leave in the end
          """
      ) { $0.isAutomatic = true },
      .number(
        "--seed", value: "N", in: 0...UInt64.max,
        help: "draw the same failures every time (default: another each time)"
      ) { $0.seed = $1 },
      .decimal(
        "--failures", value: "P", from: "0", to: "1",
        help: """
          how likely a step is to fail, from 0 to 1 (default 0.1 to create and submit, \
          0.15 to upload)
          """
      ) { $0.failures = $1 },
      .decimal(
        "--speed", value: "X", from: "0.01", to: "1000",
        help: """
          let time go X times as fast (default: 1 on a terminal; elsewhere no time passes \
          between two events)
          """
      ) { $0.speed = $1 },
      .flag("--plain", help: "print lines, as if there were no terminal") { $0.isPlain = true },
      .flag("--dot", help: "draw the graph for Graphviz instead of running it") {
        $0.drawing = .dot
      },
      .flag(
        "--mermaid",
        help: """
          draw the graph for Mermaid instead of running it; with --auto either draws the \
          graph after the run, on standard output, and the run is told on standard error
          """
      ) { $0.drawing = .mermaid },
      .text(
        "--trace", value: "FILE", needs: "the name of a file",
        help: """
          write what ran when to a file that Perfetto and chrome://tracing open; it tells \
          real time, so let some pass
          """
      ) { $0.traceFile = $1 },
    ]
  }
}
