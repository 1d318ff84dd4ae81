import ExampleSupport

/// What the program is asked to do.
struct Options: Sendable {
  /// How groups are told.
  enum Format: Sendable {
    case text, json, names
  }

  /// How much of the text is printed.
  enum Extent: Sendable {
    case everything, groups, summary
  }

  private(set) var paths: [Path] = []
  private(set) var wantsHelp = false
  private(set) var wantsEmptyFiles = false
  private(set) var openFiles = 16
  /// `nil` if what was given is no size.
  private(set) var minSize: Int64? = 0
  private(set) var exclusions: [Exclusion] = []
  private(set) var staysOnFileSystem = false
  private(set) var isDryRun = false
  private var formats = Choice(Format.text)
  private var extents = Choice(Extent.everything)
  private var actions = Choice<Action?>(nil)

  var format: Format { formats.value }
  var extent: Extent { extents.value }
  var action: Action? { actions.value }
  var wantsJSON: Bool { format == .json }

  init() {}

  /// Reads arguments as the program does, but for what it prints.
  init(_ arguments: [Path]) throws(UsageError) {
    let arguments = arguments.map { Argument(bytes: $0.bytes) }
    switch try Self.syntax.read(arguments, into: &self) {
    case .help: wantsHelp = true
    case .version: break
    case .run: try check()
    }
  }

  /// Complains of what only all arguments together show.
  func check() throws(UsageError) {
    guard minSize != nil else {
      throw UsageError("--min-size needs a size, such as 100, 64K or 1M")
    }
    try formats.check()
    try extents.check()
    try actions.check()
    if isDryRun, action == nil {
      throw UsageError("--dry-run needs --remove or --hard-link")
    }
    guard !paths.isEmpty else { throw UsageError("no path given") }
  }

  /// The arguments that the program takes.
  static var syntax: CommandSyntax<Options> {
    CommandSyntax(
      program: "DuplicateFinder", operands: "PATH...", options: searchOptions + otherOptions,
      summary: """
        Finds files with equal content in the given folders and files, and says how
        much space they waste. Files are compared byte by byte. Nothing is changed
        unless --remove or --hard-link is given.
        """,
      details: details
    ) { options, argument throws(UsageError) in
      options.paths.append(Path(bytes: argument.bytes))
    }
  }

  private static var searchOptions: [CommandOption<Options>] {
    [
      .flag(
        "--empty",
        help: """
          list empty files too; by default they are only counted, since they are all \
          equal and waste nothing
          """
      ) { $0.wantsEmptyFiles = true },
      .text(
        "--min-size", value: "SIZE", needs: "a size, such as 100, 64K or 1M",
        help: "leave alone files smaller than SIZE bytes; K, M, G and T are units of 1024"
      ) { $0.minSize = Self.size($1) },
      .argument(
        "--exclude", value: "PATTERN", needs: "a pattern",
        help: """
          leave out files and folders whose name fits a pattern of the shell, such as \
          '*.o'; a pattern with a slash has to fit the whole path
          """
      ) { $0.exclusions.append(Exclusion($1.bytes)) },
      .flag("--one-file-system", help: "leave out what is on another file system") {
        $0.staysOnFileSystem = true
      },
      .number(
        "--open-files", value: "N", in: 2...1024,
        help: "have at most N files open at a time (default 16)"
      ) { $0.openFiles = $1 },
    ]
  }

  private static var otherOptions: [CommandOption<Options>] {
    [
      .flag("--json", help: "print JSON") {
        $0.formats.choose(.json, by: "--json")
      },
      .flag(
        "-0", "--null",
        help: """
          print only the paths of equal files as they are, each ended by a zero byte, and \
          each group by one more
          """
      ) {
        $0.formats.choose(.names, by: "--null")
      },
      .flag("-q", "--quiet", help: "print no summary, and show no progress") {
        $0.extents.choose(.groups, by: "--quiet")
      },
      .flag("--summary", help: "print only the summary") {
        $0.extents.choose(.summary, by: "--summary")
      },
      .flag("--remove", help: "remove all files of each group but the first") {
        $0.actions.choose(.remove, by: "--remove")
      },
      .flag(
        "--hard-link",
        help: "replace all files of each group but the first by hard links to the first"
      ) {
        $0.actions.choose(.hardLink, by: "--hard-link")
      },
      .flag("--dry-run", help: "say what --remove or --hard-link would do, and do nothing") {
        $0.isDryRun = true
      },
    ]
  }

  /// A number of bytes: `100`, `64K`.
  private static func size(_ text: String) -> Int64? {
    let units: [Character: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40]
    let unit = text.last.flatMap { units[$0] }
    guard let number = Int64(unit == nil ? text : String(text.dropLast())), number >= 0 else {
      return nil
    }
    let (size, isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1)
    return isTooLarge ? nil : size
  }

  static var usage: String { syntax.usage }
  static var help: String { syntax.help }

  private static let details = """
    Symbolic links are not followed. Hard links are one file: they waste nothing,
    and are shown with a '=' below the name that stands for them. Paths given twice,
    or one inside the other, are searched once. In what is printed, \\xNN stands for
    a byte that is not UTF-8 or, outside JSON, belongs to a character that would
    not be seen; there a backslash is printed as two. JSON has the bytes of paths
    that are not UTF-8, as Base64, in pathBytes.

    Before --remove or --hard-link touches a file, it is compared with the first of
    its group once more, byte by byte, and what has changed since the search is left
    alone. A file that has several names is removed, or linked, under all those that
    were found; the other names of the first are left. Files are not linked if they
    differ in owner, group or mode, or are on different file systems. A search that
    was interrupted removes and links nothing. If the program is killed, a file
    whose name begins with .DuplicateFinder- may be left; it is one of its group,
    and the next run removes it.

    Ctrl-C ends the search and prints what was found so far; a second Ctrl-C ends
    the program at once.

    Exit code: 0; 1 if something could not be read, removed or linked, or changed or
    vanished meanwhile; 2 for wrong usage; 130 after Ctrl-C, and 128 + N after
    another signal N.
    """
}
