import ExampleSupport
import Foundation

/// What the program is asked to do.
struct Options: Sendable {
  /// A language for graphs.
  enum Drawing: Sendable {
    case dot, mermaid
  }

  private(set) var wantsHelp = false
  private(set) var isAutomatic = false
  private(set) var isPlain = false
  private(set) var seed = UInt64.random(in: 0...9999)
  /// How fast time goes; `nil` for the usual.
  private(set) var speed: Double?
  /// How likely each step is to fail; `nil` for the usual.
  private(set) var failures: Double?
  private(set) var drawing: Drawing?
  private(set) var traceFile: String?

  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "-h", "--help": wantsHelp = true
      case "--auto": isAutomatic = true
      case "--plain": isPlain = true
      case "--dot": drawing = .dot
      case "--mermaid": drawing = .mermaid
      case "--seed":
        guard let seed = rest.popFirst().flatMap(UInt64.init) else {
          throw UsageError("--seed needs a whole number that is not negative")
        }
        self.seed = seed
      case "--speed":
        guard let speed = rest.popFirst().flatMap(Double.init), (0.01...1000).contains(speed) else {
          throw UsageError("--speed needs a number from 0.01 to 1000")
        }
        self.speed = speed
      case "--failures":
        guard let failures = rest.popFirst().flatMap(Double.init), (0...1).contains(failures) else {
          throw UsageError("--failures needs a number from 0 to 1")
        }
        self.failures = failures
      case "--trace":
        guard let file = rest.popFirst(), !file.isEmpty else {
          throw UsageError("--trace needs the name of a file")
        }
        traceFile = file
      default: throw UsageError("unknown argument '\(argument)'")
      }
    }
  }

  static let usage = """
    Usage: OrderWorkflow [--auto] [--seed N] [--failures P] [--speed X] [--plain]
                         [--dot | --mermaid] [--trace FILE]
    Try 'OrderWorkflow --help' for more.

    """

  static let help = """
    Usage: OrderWorkflow [--auto] [--seed N] [--failures P] [--speed X] [--plain]
                         [--dot | --mermaid] [--trace FILE]

    Orders a product with two photos. Seven tasks form a workflow: a project is
    created, both photos are uploaded as soon as they and the project are there, and
    the order is submitted when both uploads and the metadata are. Work takes time
    and fails by chance; photos and metadata come from you.

      --auto          provide photos and metadata by itself, retry what has failed
                      until it has been tried three times, and leave in the end
      --seed N        draw the same failures every time (default: another each time)
      --failures P    how likely a step is to fail, from 0 to 1
                      (default 0.1 to create and submit, 0.15 to upload)
      --speed X       let time go X times as fast (default: 1 on a terminal; elsewhere
                      no time passes between two events)
      --plain         print lines, as if there were no terminal
      --dot           draw the graph for Graphviz instead of running it
      --mermaid       draw the graph for Mermaid instead of running it; with --auto
                      either draws the graph after the run, on standard output, and
                      the run is told on standard error
      --trace FILE    write what ran when to a file that Perfetto and chrome://tracing
                      open; it tells real time, so let some pass
      -h, --help      print this text

    Keys: a task's number does what can be done with it: provide it, start, cancel,
    retry or reset it. s starts, c cancels, r retries and x resets everything; q
    leaves. Ctrl-C leaves at once.

    Without a terminal the same keys are read as lines from standard input, one
    whenever nothing goes on by itself; and what is printed is the same for the same
    seed and the same keys.

    Exit code: 0 if everything has finished; 1 if not, or if a file could not be
    written; 2 for wrong usage; 130 after Ctrl-C, and 128 + N after another signal N.

    """
}
