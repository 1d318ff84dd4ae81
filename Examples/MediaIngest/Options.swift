import ExampleSupport

/// What the program is asked to do.
struct Options: Sendable {
  private(set) var folder = ""
  private(set) var output = ""
  private(set) var jobs = 4
  private(set) var timeLimit = Duration.seconds(60)
  private(set) var wantsJSON = false
  private(set) var wantsHelp = false

  init(_ arguments: [String]) throws(UsageError) {
    var folders: [String] = []
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "-h", "--help": wantsHelp = true
      case "--json": wantsJSON = true
      case "--output": output = try Self.value(of: argument, rest.popFirst())
      case "--jobs": jobs = try Self.jobs(rest.popFirst())
      case "--timeout": timeLimit = try Self.timeLimit(rest.popFirst())
      case "--":
        folders += rest
        rest = []
      case let option where option.hasPrefix("-"):
        throw UsageError("unknown option \(option.printable)")
      default: folders.append(argument)
      }
    }
    if wantsHelp { return }
    guard let folder = folders.first, !folder.isEmpty else {
      throw UsageError("no folder given")
    }
    guard folders.count == 1 else {
      throw UsageError("more than one folder given: \(folders[1].printable)")
    }
    self.folder = folder
    if output.isEmpty { output = folder.appending(name: ".ingest") }
  }

  private static func value(of option: String, _ argument: String?) throws(UsageError) -> String {
    guard let argument, !argument.isEmpty else {
      throw UsageError("\(option) needs a folder")
    }
    return argument
  }

  private static func jobs(_ argument: String?) throws(UsageError) -> Int {
    guard let argument, let jobs = Int(argument), (1...256).contains(jobs) else {
      throw UsageError("--jobs needs a number from 1 to 256")
    }
    return jobs
  }

  private static func timeLimit(_ argument: String?) throws(UsageError) -> Duration {
    guard let argument, let seconds = Double(argument), (0.001...86_400).contains(seconds) else {
      throw UsageError("--timeout needs a number of seconds from 0.001 to 86400")
    }
    return .seconds(seconds)
  }

  static let usage = """
    Usage: MediaIngest [--output DIR] [--jobs N] [--timeout SECONDS] [--json] [--] FOLDER
    Try 'MediaIngest --help' for more.

    """

  static let help = """
    Usage: MediaIngest [--output DIR] [--jobs N] [--timeout SECONDS] [--json] [--] FOLDER

    Takes stock of the pictures, films and other files in a folder: tells by the
    first bytes what each one is, computes its SHA-256, and writes both to a small
    JSON file of its own. FOLDER itself is not changed, but for the output in it.

      --output DIR       where the JSON files go, in folders like those in FOLDER
                         (default: FOLDER/.ingest)
      --jobs N           work on at most N files at a time (default 4)
      --timeout SECONDS  give up a file that takes longer to read (default 60)
      --json             print the summary as JSON
      --                 what follows is a folder, even if it begins with a dash
      -h, --help         print this text

    A file that cannot be read at the moment, or changes while it is read, is tried
    three more times. Files that were done before and have the same size and time of
    modification are left alone: interrupt the program with Ctrl-C, run it again,
    and it goes on where it stopped. A second Ctrl-C ends it at once.

    Symbolic links are not followed; hidden files and folders are left out, and so
    are names that are not UTF-8, with a complaint.

    Exit code: 0; 1 if something could not be read or written; 2 for wrong usage;
    130 after Ctrl-C, and 128 + N after another signal N.

    """
}
