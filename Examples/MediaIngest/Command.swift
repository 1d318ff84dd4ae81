import ExampleSupport
import Foundation
import Properations

/// The program from its arguments to its exit code.
@main
@MainActor
enum Command {
  /// The exit codes of the program; 128 plus the signal's number after a signal.
  enum ExitCode {
    static let done: Int32 = 0
    static let incomplete: Int32 = 1
    static let wrongUsage: Int32 = 2
  }

  static func main() async {
    StandardStreams.prepare()
    // Exceeding a limit for file sizes is an error like a full disk.
    signal(SIGXFSZ, SIG_IGN)
    let interruption = Interruption.first()
    switch Options.syntax.start(
      Options(),
      check: { options throws(UsageError) in
        try options.check()
        try FoldersApart.check(options.folder, options.output)
      })
    {
    case .exit(let code): exit(code)
    case .run(let options): exit(await ingest(options, until: interruption))
    }
  }

  private static func ingest(_ options: Options, until interruption: Future<Int32>) async -> Int32 {
    let ledger = Ledger(isVerification: options.mode == .verify)
    let progress = StatusLine {
      let summary = ledger.summary
      return ProgressLine.text(
        for: summary, remaining: summary.remaining(at: .now),
        columns: Console.errors.size?.columns ?? 80)
    }
    let plan = IngestPlan(options, ledger: ledger)

    let scan = ScanFolder(options.folder, except: plan.output.root)
    let ingest = IngestFolder(plan, producing: scan)

    let queue = TaskQueue(name: "MediaIngest")
    queue.addTask(scan)
    queue.addTask(ingest)
    interruption.onSuccess(on: .inline) { _ in queue.cancelAllTasks() }

    _ = await ingest.completion
    progress?.erase()
    ledger.close(ingest.produced)

    let summary = ledger.summary
    Console.errors.write(summary.complaints)
    let code = interruption.result?.successValue.map(Interruption.exitCode)
    return print(
      options.wantsJSON ? summary.json : summary.text,
      code ?? (summary.problems.isEmpty ? ExitCode.done : ExitCode.incomplete))
  }

  private static func print(_ text: String, _ code: Int32) -> Int32 {
    Console.output.write(text) ? code : max(code, ExitCode.incomplete)
  }
}
