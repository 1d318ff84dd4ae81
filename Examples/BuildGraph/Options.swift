import ExampleSupport
import Foundation

/// What the program is asked to do.
struct Options: Sendable {
  private(set) var wantsHelp = false
  private(set) var file = "Buildfile"
  private(set) var targets: [String] = []
  private(set) var jobs = ProcessInfo.processInfo.activeProcessorCount
  private(set) var isDryRun = false
  private(set) var wantsDrawing = false
  private(set) var traceFile: String?

  init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "-h", "--help": wantsHelp = true
      case "-n", "--dry-run": isDryRun = true
      case "--dot": wantsDrawing = true
      case "-f", "--file": file = try Self.name(rest.popFirst(), of: argument)
      case "--trace": traceFile = try Self.name(rest.popFirst(), of: argument)
      case "-j", "--jobs": jobs = try Self.count(rest.popFirst())
      case "--":
        targets += rest
        rest = []
      case let option where option.hasPrefix("-j"):
        jobs = try Self.count(String(option.dropFirst(2)))
      case let option where option.hasPrefix("-"):
        throw UsageError("unknown option '\(option)'")
      default: targets.append(argument)
      }
    }
  }

  private static func name(_ argument: String?, of option: String) throws(UsageError) -> String {
    guard let argument, !argument.isEmpty else {
      throw UsageError("\(option) needs the name of a file")
    }
    return argument
  }

  private static func count(_ argument: String?) throws(UsageError) -> Int {
    guard let argument, let count = Int(argument), (1...1024).contains(count) else {
      throw UsageError("-j needs a number from 1 to 1024")
    }
    return count
  }

  static let usage = """
    Usage: BuildGraph [-f FILE] [-j N] [-n] [--dot] [--trace FILE] [--] [TARGET...]
    Try 'BuildGraph --help' for more.

    """

  static let help = """
    Usage: BuildGraph [-f FILE] [-j N] [-n] [--dot] [--trace FILE] [--] [TARGET...]

    Runs the commands of a build description, as many at a time as there are
    processors, each as soon as what it needs is there. What neither failed nor
    changed since is not run again.

      TARGET...       build these and what they need (default: everything)
      -f, --file FILE read this description (default: Buildfile)
      -j, --jobs N    run at most N commands at a time
      -n, --dry-run   say what would be run, and why, and run nothing
      --dot           draw the graph for Graphviz instead of running it
      --trace FILE    write what ran when to a file that Perfetto and chrome://tracing
                      open
      -h, --help      print this text

    A description is a text file of rules:

      # The program.
      hello: hello.o
          cc -o hello hello.o

      hello.o: hello.c hello.h
          cc -c hello.c

    A rule is a line 'TARGET: PREREQUISITE...' and, below it, indented, the commands:
    a script for '/bin/sh -e', run in the folder of the description. Names are
    separated by blanks, and contain neither blanks nor colons. A prerequisite is
    another target or a file that is there. The order of the rules means nothing.
    A target without commands is a name for its prerequisites. Empty lines, and
    lines and words that begin with '#', are comments; an indented '#' belongs to
    the script. There are no variables and no patterns.

    A target is built if it never was or its last build did not end well; if its
    commands or the list of its prerequisites have changed; if one of those is a
    file whose date or size has changed, or was built as something that is no file;
    or if it was a file that is gone. Of a folder counts only that it is there. What
    is known of the last builds is kept in '.NAME.state' beside the description
    NAME. A target that fails holds up only those that need it.

    Ctrl-C ends the commands that run and keeps what is done; a second Ctrl-C ends
    the program at once.

    Exit code: 0 if everything is up to date; 1 if a command failed, or if a file
    could not be written; 2 for wrong usage or a wrong description; 130 after
    Ctrl-C, and 128 + N after another signal N.

    """
}
