import ExampleSupport
import Foundation
import Properations

/// The program from its arguments to its exit code.
@main
@MainActor
enum Command {
  /// What the program tells whoever started it; 128 and the number of the
  /// signal if it was another one than that of Ctrl-C.
  enum ExitCode: Int32 {
    case done = 0
    case incomplete = 1
    case wrongUsage = 2
    case interrupted = 130
  }

  /// Runs the program.
  static func main() async {
    let interruption = Interruption.first()
    // A reader that goes away (`| head`) is noticed where the program writes.
    signal(SIGPIPE, SIG_IGN)
    let exitCode = await run(Path.arguments, until: interruption)
    let signal = exitCode == .interrupted ? interruption.result?.successValue : nil
    exit(signal.map(Interruption.exitCode) ?? exitCode.rawValue)
  }

  private static func run(
    _ arguments: [Path], until interruption: Future<Int32>
  ) async -> ExitCode {
    do {
      let options = try Options(arguments)
      guard !options.wantsHelp else { return write(Options.help, .done) }
      return await findDuplicates(options, until: interruption)
    } catch {
      Console.complain("\(error)\n\n\(Options.usage.dropLast())")
      return .wrongUsage
    }
  }

  private static func findDuplicates(
    _ options: Options, until interruption: Future<Int32>
  ) async -> ExitCode {
    let scope = CancellationScope()
    // Inline: whatever the other threads do, Ctrl-C waits for none of them.
    interruption.onSuccess(on: .inline) { _ in scope.cancel() }

    let search = DuplicateSearch(options, scope: scope)
    let duplicates = search.start()
    let progress = ProgressLine(for: search.findings)
    // Cancelled or not, the findings tell how far the search has come.
    let isComplete = await duplicates.completion.isSuccess
    progress?.erase()

    let report = Report(of: search.findings.soFar, isComplete: isComplete)
    Console.errors.write(report.complaints)
    return write(options.wantsJSON ? report.json : report.text, report.exitCode)
  }

  private static func write(_ text: String, _ exitCode: ExitCode) -> ExitCode {
    Console.output.write(text) ? exitCode : .incomplete
  }
}
