import Properations

/// How files are to be ingested.
struct IngestPlan: Sendable {
  /// What is done with files that were done before.
  enum Mode: Sendable {
    /// They are left alone if they have not changed.
    case goOn
    /// They are done again.
    case force
    /// They are read again, and compared with what is written down; nothing is written.
    case verify
  }

  let output: OutputTree
  var publisher: Publisher
  let ledger: Ledger
  let mode: Mode
  /// Whether sidecars of files that are gone are removed.
  let prunes: Bool
  /// How many files at a time.
  let jobs: Int
  /// How long the parts of a file's reading may take each.
  let timeLimit: Duration
  /// How long to wait before each further attempt to read a file.
  var delays: @Sendable (Int) -> Duration = { attempt in .milliseconds(100 << attempt) }
  /// Opens a file; tests have other ways to.
  var open: @Sendable (SourceFile) throws(Problem) -> OpenFile = { file throws(Problem) in
    try OpenFile(file)
  }

  /// What to do when a file cannot be read.
  var retries: RetryPolicy {
    let delays = delays
    return RetryPolicy(
      attempts: 4, delay: .custom { attempt, _ in delays(attempt) },
      retryIf: { error in (error as? Problem)?.isTransient == true })
  }

  init(_ options: Options, ledger: Ledger) {
    let output = OutputTree(root: options.output)
    self.output = output
    self.ledger = ledger
    publisher = Publisher(output, ledger) { () throws(Problem) in try output.sync() }
    mode = options.mode
    prunes = options.prunes
    jobs = options.jobs
    timeLimit = options.timeLimit
  }
}
