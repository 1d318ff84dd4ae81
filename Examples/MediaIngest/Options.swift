import ExampleSupport

/// The options of the program.
struct Options: Sendable {
  private(set) var folder = ""
  private(set) var output = ""
  private(set) var jobs = 4
  private(set) var timeLimit = Duration.seconds(60)
  private(set) var prunes = false
  private(set) var wantsJSON = false
  private(set) var wantsHelp = false
  private var folders: [String] = []
  private var modes = Choice(IngestPlan.Mode.goOn)

  var mode: IngestPlan.Mode { modes.value }

  init() {}

  /// Reads arguments like the program, but prints nothing.
  init(_ arguments: [String]) throws(UsageError) {
    switch try Self.syntax.read(arguments.map { Argument($0) }, into: &self) {
    case .help: wantsHelp = true
    case .version: break
    case .run: try check()
    }
  }

  /// Throws if the arguments are wrong in combination; otherwise fills in defaults.
  mutating func check() throws(UsageError) {
    guard let folder = folders.first, !folder.isEmpty else {
      throw UsageError("no folder given")
    }
    guard folders.count == 1 else {
      throw UsageError("more than one folder given: \(folders[1].visible)")
    }
    try modes.check()
    if mode == .verify, prunes { throw UsageError("--verify and --prune exclude each other") }
    self.folder = folder
    if output.isEmpty { output = folder.appending(name: ".ingest") }
  }

  /// The arguments that the program takes.
  static var syntax: CommandSyntax<Options> {
    CommandSyntax(
      program: "MediaIngest", operands: "FOLDER", options: options,
      summary: """
        Takes stock of the pictures, films and other files in a folder. For each file
        it finds the type, the dimensions or duration, and the SHA-256, and writes them
        to a small JSON file, the sidecar. FOLDER itself is not changed, except for the
        output in it.
        """,
      details: details
    ) { options, argument throws(UsageError) in
      guard let text = argument.text else {
        throw UsageError("the folder's name is not UTF-8: \(argument.visible)")
      }
      options.folders.append(text)
    }
  }

  private static var options: [CommandOption<Options>] {
    [
      .text(
        "--output", value: "DIR", needs: "a folder",
        help: """
          write the sidecars to DIR, in folders like those in FOLDER (default: FOLDER/.ingest)
          """
      ) { $0.output = $1 },
      .number(
        "-j", "--jobs", value: "N", in: 1...256,
        help: "ingest at most N files at a time (default 4)"
      ) { $0.jobs = $1 },
      .decimal(
        "--timeout", value: "SECONDS", from: "0.001", to: "86400", of: " of seconds",
        help: "fail a file that takes longer to read (default 60)"
      ) { $0.timeLimit = .seconds($1) },
      .flag("--force", help: "also ingest files that were done before") {
        $0.modes.choose(.force, by: "--force")
      },
      .flag(
        "--verify",
        help: "read all files again, compare them with their sidecars, and write nothing"
      ) {
        $0.modes.choose(.verify, by: "--verify")
      },
      .flag("--prune", help: "at the end, remove the sidecars of files that are gone") {
        $0.prunes = true
      },
      .flag("--json", help: "print the summary as JSON") { $0.wantsJSON = true },
    ]
  }

  static var help: String { syntax.help }

  private static let details = """
    A file that cannot be read at the moment, or that changes while it is read, is
    tried three more times. Files that were done before and have the same size and
    modification time are skipped: interrupt the program with Ctrl-C, run it again,
    and it continues where it stopped. A second Ctrl-C ends it at once.

    A sidecar gets its final name after it has reached the disk, together with
    others; an incomplete sidecar is written again. The sidecar of 'x' is 'x.json',
    and a folder 'x.json' is called 'x.json.d' in the output. A full disk ends the
    program, and so do 64 files whose reading hangs.

    Symbolic links are not followed. Hidden files and folders are skipped. A name
    that is not UTF-8 is skipped and reported. The output must not be in a place
    where it would be ingested itself.

    Exit code: 0 on success; 1 if a file could not be read or written, or differs; 2
    for wrong usage; 130 after Ctrl-C, and 128 + N after another signal N.
    """
}
