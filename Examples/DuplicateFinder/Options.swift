import ExampleSupport

/// The options of the program.
struct Options: Sendable {
  /// The format of the groups.
  enum Format: Sendable {
    case text, json, names
  }

  /// The part of the text that is printed.
  enum Extent: Sendable {
    case everything, groups, summary
  }

  private(set) var paths: [Path] = []
  private(set) var wantsHelp = false
  private(set) var wantsEmptyFiles = false
  private(set) var openFiles = 16
  /// `nil` if the given text is no size.
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

  /// Reads arguments like the program, but prints nothing.
  init(_ arguments: [Path]) throws(UsageError) {
    let arguments = arguments.map { Argument(bytes: $0.bytes) }
    switch try Self.syntax.read(arguments, into: &self) {
    case .help: wantsHelp = true
    case .version: break
    case .run: try check()
    }
  }

  /// Throws if the arguments are wrong in combination.
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
        Finds files with equal content in the given folders and files, and reports how
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
          list empty files too; by default they are only counted, because they are all \
          equal and waste no space
          """
      ) { $0.wantsEmptyFiles = true },
      .text(
        "--min-size", value: "SIZE", needs: "a size, such as 100, 64K or 1M",
        help: "skip files smaller than SIZE bytes; the suffixes K, M, G and T are powers of 1024"
      ) { $0.minSize = Self.size($1) },
      .argument(
        "--exclude", value: "PATTERN", needs: "a pattern",
        help: """
          skip files and folders whose name matches a shell pattern, such as '*.o'; a \
          pattern with a slash must match the whole path
          """
      ) { $0.exclusions.append(Exclusion($1.bytes)) },
      .flag("--one-file-system", help: "skip files and folders on other file systems") {
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
          print only the paths of equal files, without escapes; a zero byte ends each \
          path, and another one each group
          """
      ) {
        $0.formats.choose(.names, by: "--null")
      },
      .flag("-q", "--quiet", help: "print no summary and show no progress") {
        $0.extents.choose(.groups, by: "--quiet")
      },
      .flag("--summary", help: "print only the summary") {
        $0.extents.choose(.summary, by: "--summary")
      },
      .flag("--remove", help: "remove all files of each group except the first") {
        $0.actions.choose(.remove, by: "--remove")
      },
      .flag(
        "--hard-link",
        help: "replace all files of each group except the first by hard links to the first"
      ) {
        $0.actions.choose(.hardLink, by: "--hard-link")
      },
      .flag("--dry-run", help: "print what --remove or --hard-link would do, but change nothing") {
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

  static var help: String { syntax.help }

  private static let details = """
    Symbolic links are not followed. Hard links are one file: they waste no space.
    Their other names are printed with a '=' below the first one. Paths that are
    given twice, or that contain each other, are searched once. In printed paths,
    \\xNN stands for a byte that is not UTF-8 or that belongs to an invisible
    character, and a backslash is printed as two. In JSON, only paths that are not
    UTF-8 have such escapes. If a path of a group is not UTF-8 or has a backslash,
    pathBytes has the bytes of all its paths as Base64.

    Before --remove or --hard-link changes a file, the file is compared with the
    first of its group once more, byte by byte. Files that have changed since the
    search are left alone. A file with several names is removed, or linked, under
    all names that were found; the other names of the first file are left. Files are
    not linked if they differ in owner, group or mode, or are on different file
    systems. After an interrupted search nothing is removed or linked. If the
    program is killed, it may leave a file whose name begins with .DuplicateFinder-.
    That file belongs to its group, and the next run removes it.

    Ctrl-C ends the search and prints what was found so far; a second Ctrl-C ends
    the program at once.

    Exit code: 0 on success; 1 if a file could not be read, removed or linked, or
    changed or vanished meanwhile; 2 for wrong usage; 130 after Ctrl-C, and 128 + N
    after another signal N.
    """
}
