import Properations

/// How files are to be ingested.
struct IngestPlan: Sendable {
  let output: OutputTree
  let ledger: Ledger
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
    output = OutputTree(root: options.output)
    self.ledger = ledger
    jobs = options.jobs
    timeLimit = options.timeLimit
  }
}
