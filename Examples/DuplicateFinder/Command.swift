import Foundation
import Properations

/// The program from its arguments to its exit code.
@main
@MainActor
enum Command {
  /// What the program tells whoever started it.
  enum ExitCode: Int32 {
    case done = 0
    case incomplete = 1
    case wrongUsage = 2
    case interrupted = 130
  }

  /// Runs the program.
  static func main() async {
    // A reader that goes away (`| head`) is noticed where the program writes.
    signal(SIGPIPE, SIG_IGN)
    exit(await run(arguments: Path.arguments).rawValue)
  }

  private static func run(arguments: [Path]) async -> ExitCode {
    do {
      let options = try Options(arguments)
      guard !options.wantsHelp else { return Console.output.write(Options.help) }
      return await findDuplicates(options)
    } catch {
      Console.errors.write("DuplicateFinder: \(error)\n\n\(Options.usage)")
      return .wrongUsage
    }
  }

  private static func findDuplicates(_ options: Options) async -> ExitCode {
    let scope = CancellationScope()
    // Inline: whatever the other threads do, Ctrl-C waits for none of them.
    Interruption.first().onSuccess(on: .inline) { scope.cancel() }

    let search = DuplicateSearch(options, scope: scope)
    let duplicates = search.start()
    let progress = ProgressLine(for: search.findings)
    // Cancelled or not, the findings tell how far the search has come.
    let isComplete = await duplicates.completion.isSuccess
    progress?.erase()

    let report = Report(of: search.findings.soFar, isComplete: isComplete)
    Console.errors.write(report.complaints)
    let written = Console.output.write(options.wantsJSON ? report.json : report.text)
    return written == .done ? report.exitCode : written
  }
}
