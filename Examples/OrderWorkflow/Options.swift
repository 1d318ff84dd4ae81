import ExampleSupport
import Foundation

/// The options of the program.
struct Options: Sendable {
  /// A language for graphs.
  enum Drawing: Sendable {
    case dot, mermaid
  }

  private(set) var isAutomatic = false
  private(set) var isPlain = false
  private(set) var seed = UInt64.random(in: 0...9999)
  /// The speed of time; `nil` for the default.
  private(set) var speed: Double?
  /// The probability that a step fails; `nil` for the default.
  private(set) var failures: Double?
  private(set) var drawing: Drawing?
  private(set) var traceFile: String?

  /// The arguments that the program takes.
  static var syntax: CommandSyntax<Options> {
    CommandSyntax(
      program: "OrderWorkflow", options: options,
      summary: """
        Orders a product with two photos. Seven tasks form a workflow: a project is
        created, each photo is uploaded as soon as it and the project exist, and the
        order is submitted when both uploads and the metadata are ready. Work takes time
        and fails by chance; you provide the photos and the metadata.
        """,
      details: """
        Keys: a task's number performs its current action: provide, start, cancel,
        retry or reset. s starts, c cancels, r retries and x resets everything; q quits.
        Ctrl-C quits at once.

        Without a terminal, the same keys are read as lines from standard input. A line
        is read whenever nothing more happens by itself. The output is the same for the
        same seed and the same keys.

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
          provide photos and metadata automatically, retry failed tasks up to three \
          attempts, and quit at the end
          """
      ) { $0.isAutomatic = true },
      .number(
        "--seed", value: "N", in: 0...UInt64.max,
        help: "make the failures repeatable (default: a random seed)"
      ) { $0.seed = $1 },
      .decimal(
        "--failures", value: "P", from: "0", to: "1",
        help: """
          make each step fail with this probability, from 0 to 1 (default 0.1 to create \
          and submit, 0.15 to upload)
          """
      ) { $0.failures = $1 },
      .decimal(
        "--speed", value: "X", from: "0.01", to: "1000",
        help: """
          run X times as fast (default: 1 on a terminal; elsewhere no time passes \
          between events)
          """
      ) { $0.speed = $1 },
      .flag("--plain", help: "print lines, as without a terminal") { $0.isPlain = true },
      .flag("--dot", help: "print the graph for Graphviz instead of running it") {
        $0.drawing = .dot
      },
      .flag(
        "--mermaid",
        help: """
          print the graph for Mermaid instead of running it; with --auto, --dot and \
          --mermaid print the graph after the run, and the run is reported on standard error
          """
      ) { $0.drawing = .mermaid },
      .text(
        "--trace", value: "FILE", needs: "the name of a file",
        help: """
          write a trace of the run to FILE, for Perfetto or chrome://tracing; it shows \
          real time, so use --speed where no time would pass
          """
      ) { $0.traceFile = $1 },
    ]
  }
}
