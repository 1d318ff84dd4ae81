import ExampleSupport
import Foundation
import Properations

/// Orders a product with two photos: a workflow that the user can watch and control.
///
/// - `Order` is the workflow: seven tasks and their prerequisites.
/// - `TimedTask` is a kind of task: its work takes time and fails by chance.
/// - `Autopilot` is a delegate of the tasks. It retries failed tasks.
/// - `Narrator` is the workflow's delegate. It reports events in lines; `Picture` shows
///   the state of all tasks instead.
/// - `Controls` defines what the keys do: start, cancel, retry and reset.
///
/// The other types make it a program. The `Timeline` can skip waiting times, and makes a
/// run repeatable.
@main
@MainActor
enum Command {
  /// The exit codes of the program.
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

/// A way to run the order and to show it.
@MainActor
protocol Performance {
  /// Runs until there is nothing more to do.
  ///
  /// - Returns: The signal that ended the run, if any.
  func run() async -> Int32?
}
