import ExampleSupport

/// What the program is asked to do.
struct Options: Sendable {
  private(set) var paths: [Path] = []
  private(set) var wantsHelp = false
  private(set) var wantsJSON = false
  private(set) var wantsEmptyFiles = false
  private(set) var openFiles = 16

  init(_ arguments: [Path]) throws(UsageError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument.text {
      case "-h", "--help": wantsHelp = true
      case "--json": wantsJSON = true
      case "--empty": wantsEmptyFiles = true
      case "--open-files": openFiles = try Self.limit(rest.popFirst())
      case "--":
        paths += rest
        rest = []
      case let option where option.hasPrefix("-"):
        throw UsageError("unknown option \(argument)")
      default: paths.append(argument)
      }
    }
    guard wantsHelp || !paths.isEmpty else { throw UsageError("no path given") }
  }

  private static func limit(_ argument: Path?) throws(UsageError) -> Int {
    guard let argument, let limit = Int(argument.text), (2...1024).contains(limit) else {
      throw UsageError("--open-files needs a number from 2 to 1024")
    }
    return limit
  }

  static let usage = """
    Usage: DuplicateFinder [--json] [--empty] [--open-files N] [--] PATH...
    Try 'DuplicateFinder --help' for more.

    """

  static let help = """
    Usage: DuplicateFinder [--json] [--empty] [--open-files N] [--] PATH...

    Finds files with equal content in the given folders and files, and says how
    much space they waste. Files are compared byte by byte. Nothing is changed.

      --json          print JSON
      --empty         list empty files too; by default they are only counted, since
                      they are all equal and waste nothing
      --open-files N  have at most N files open at a time (default 16)
      --              what follows are paths, even if they begin with a dash
      -h, --help      print this text

    Symbolic links are not followed. Hard links are one file: they waste nothing,
    and are shown with a '=' below the name that stands for them. Paths given twice,
    or one inside the other, are searched once. In what is printed, \\xNN stands for
    a byte that is not UTF-8 or, outside JSON, for a control character.

    Ctrl-C ends the search and prints what was found so far; a second Ctrl-C ends
    the program at once.

    Exit code: 0; 1 if something could not be read, or changed or vanished
    meanwhile; 2 for wrong usage; 130 after Ctrl-C, and 128 + N after another
    signal N.

    """
}
