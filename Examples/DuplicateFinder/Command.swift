import ExampleSupport
import Foundation
import Properations

/// The program from its arguments to its exit code.
@main
@MainActor
enum Command {
  /// The exit codes of the program.
  ///
  /// After a signal other than Ctrl-C, the exit code is 128 plus the signal's number.
  enum ExitCode: Int32 {
    case done = 0
    case incomplete = 1
    case wrongUsage = 2
    case interrupted = 130
  }

  static func main() async {
    StandardStreams.prepare()
    let interruption = Interruption.first()
    switch Options.syntax.start(
      Options(),
      check: { options throws(UsageError) in
        try options.check()
      })
    {
    case .exit(let code): exit(code)
    case .run(let options):
      let exitCode = await findDuplicates(options, until: interruption)
      let signal = exitCode == .interrupted ? interruption.result?.successValue : nil
      exit(signal.map(Interruption.exitCode) ?? exitCode.rawValue)
    }
  }

  private static func findDuplicates(
    _ options: Options, until interruption: Future<Int32>
  ) async -> ExitCode {
    let scope = CancellationScope()
    // Inline: cancellation must not wait for other threads.
    interruption.onSuccess(on: .inline) { _ in scope.cancel() }

    let search = DuplicateSearch(options, scope: scope)
    let duplicates = search.start()
    let progress =
      options.extent == .groups
      ? nil : StatusLine { ProgressLine.text(for: search.findings.soFar) }
    // The findings so far are reported even after cancellation.
    var isComplete = await duplicates.completion.isSuccess
    if isComplete, let action = options.action {
      isComplete = await search.perform(action).completion.isSuccess
    }
    progress?.erase()

    let report = Report(of: search.findings.soFar, isComplete: isComplete)
    Console.errors.write(report.complaints)
    return write(report, options) ? report.exitCode : .incomplete
  }

  private static func write(_ report: Report, _ options: Options) -> Bool {
    switch (options.format, options.extent) {
    case (.names, _): Console.output.write(bytes: report.names)
    case (.json, let extent): Console.output.write(report.json(withGroups: extent != .summary))
    case (.text, .everything): Console.output.write(report.text)
    case (.text, .groups): Console.output.write(report.groupsText)
    case (.text, .summary): Console.output.write(report.summary)
    }
  }
}
