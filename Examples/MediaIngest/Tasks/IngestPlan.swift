import Properations
import Synchronization

/// The settings and shared objects of an ingest.
struct IngestPlan: Sendable {
  /// The treatment of files that were done before.
  enum Mode: Sendable {
    /// Skip them if they have not changed.
    case goOn
    /// Ingest them again.
    case force
    /// Read them again, compare them with their sidecars, and write nothing.
    case verify
  }

  let output: OutputTree
  var publisher: Publisher
  let ledger: Ledger
  let mode: Mode
  /// Whether the sidecars of files that are gone are removed.
  let prunes: Bool
  /// The maximum number of files at a time.
  let jobs: Int
  /// The time limit of each attempt to ingest a file: to read it and to write its sidecar.
  let timeLimit: Duration
  /// The files whose reading or writing goes on after the time limit.
  let hangingFiles = HangingFiles()
  /// So many hanging files stop the ingest: each keeps a thread, and a process has a few
  /// hundred at most.
  var hangingLimit = 64
  /// The delay before each further attempt to read a file.
  var delays: @Sendable (Int) -> Duration = { attempt in .milliseconds(100 << attempt) }
  /// Opens a file; tests replace it.
  var open: @Sendable (SourceFile) throws(Problem) -> OpenFile = { file throws(Problem) in
    try OpenFile(file)
  }

  /// Whether so many files hang that no others should begin.
  var hangs: Bool { hangingFiles.count >= hangingLimit }

  /// The retries when a file cannot be read.
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

/// The number of files whose tasks have ended without them.
final class HangingFiles: Sendable {
  private let value = Atomic<Int>(0)

  var count: Int { value.load(ordering: .relaxed) }

  func add(_ change: Int) { value.add(change, ordering: .relaxed) }
}
