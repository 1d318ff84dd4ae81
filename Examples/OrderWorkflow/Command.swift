import ExampleSupport
import Foundation
import Properations

/// Orders a product with two photos: a workflow that one can watch and meddle
/// with.
///
/// - `Order` is the workflow: seven tasks and what they wait for.
/// - `TimedTask` is a kind of task: work that takes time and fails by chance.
/// - `Autopilot` is a delegate of the tasks that retries what has failed.
/// - `Narrator` is the workflow's delegate, and tells what happens in lines;
///   `Picture` shows how all tasks stand instead.
/// - `Controls` says what the keys do: start, cancel, retry and reset.
///
/// The rest makes it a program. The `Timeline` lets time pass quickly and the
/// same story happen again.
@main
@MainActor
enum Command {
  /// What the program tells whoever started it.
  enum ExitCode {
    static let finished: Int32 = 0
    static let unfinished: Int32 = 1
    static let wrongUsage: Int32 = 2
  }

  static func main() async {
    StandardStreams.prepare()
    switch Options.syntax.start(Options()) {
    case .exit(let code): exit(code)
    case .run(let options): exit(await run(options))
    }
  }

  private static func run(_ options: Options) async -> Int32 {
    do { return try await perform(options) } catch {
      Console.complain(error.message)
      return ExitCode.unfinished
    }
  }

  private static func perform(_ options: Options) async throws -> Int32 {
    let chance = Chance(seed: options.seed, probability: options.failures)
    let world = World(timeline: Timeline(), chance: chance)
    let order = try Order(in: world)
    guard options.drawing == nil || options.isAutomatic else { return draw(order, options) }

    let performance: any Performance
    if !options.isPlain, options.drawing == nil, let terminal = Terminal(lines: 14) {
      performance = Interactive(order, world.timeline, options, on: terminal)
    } else {
      performance = Plain(order, world.timeline, options)
    }
    let signal = await performance.run()
    var exitCode = order.workflow.hasUnfinishedTasks ? ExitCode.unfinished : ExitCode.finished
    if let file = options.traceFile {
      do {
        try TextFile.write(order.workflow.trace, to: file)
      } catch {
        Console.complain("cannot write '\(file)'")
        exitCode = ExitCode.unfinished
      }
    }
    if options.drawing != nil { exitCode = max(exitCode, draw(order, options)) }
    return signal.map(Interruption.exitCode) ?? exitCode
  }

  private static func draw(_ order: Order, _ options: Options) -> Int32 {
    let text = options.drawing == .mermaid ? order.workflow.mermaid : order.workflow.dot
    return Console.output.write(text) ? ExitCode.finished : ExitCode.unfinished
  }
}

/// A way to run the order and to tell of it.
@MainActor
protocol Performance {
  /// Runs until there is nothing more to do.
  ///
  /// - Returns: The signal that ended it before that, if one did.
  func run() async -> Int32?
}
