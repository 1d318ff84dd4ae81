import ExampleSupport
import Foundation
import Properations

/// A small `make`: runs the commands of a build description as a workflow of processes.
///
/// The next build runs only what has failed or changed.
///
///     # The program.
///     hello: hello.o
///         cc -o hello hello.o
///
///     hello.o: hello.c hello.h
///         cc -c hello.c
///
/// A rule is a target, a colon and the prerequisites of the target. An indented script
/// for `/bin/sh -e` follows. A prerequisite is another target or a file.
///
/// ## From the text to the result
///
/// - `Description` reads the rules and finds errors in single lines.
/// - `Plan` puts the wanted targets in order, and finds unknown prerequisites and cycles.
/// - `Build` puts together what the build needs.
/// - `Graph` makes a `Workflow` of the plan: one `FutureWorkflowTask` for each target,
///   with the target's prerequisites as its own.
/// - `Builder` is the work of a task. From the results of the prerequisites, a `Stamp`
///   each, it decides whether there is a `Reason` to run the commands. A target that
///   turns out unchanged is no reason to build the targets that need it.
/// - `Shell` runs a script, and its `Launcher` makes a future of the script's end.
///   Cancelling the workflow cancels the tasks, the tasks cancel their futures, and the
///   futures end their processes. If the program is killed, `Watchdogs` end them.
/// - `Transcript` prints the output of the commands while they run.
/// - `Journal` records which builds have succeeded. The record survives any end of the
///   program.
/// - `Reporter` is the workflow's delegate. It takes the critical path from the
///   workflow's trace.
///
/// `Workflow.maxConcurrentTaskCount` limits the number of commands that run at a time. A
/// failure holds up only the tasks that depend on it; that is how every workflow works.
@main
@MainActor
enum Command {
  /// The exit codes of the program.
  enum ExitCode {
    static let done: Int32 = 0
    static let failed: Int32 = 1
    static let wrongInput: Int32 = 2
  }

  static func main() async {
    StandardStreams.prepare()
    let shell = Shell()
    let interruption = Interruption.first(beforeExit: { shell.killAll() })
    switch Options.syntax.start(Options()) {
    case .exit(let code): exit(code)
    case .run(let options): exit(await run(options, in: shell, until: interruption))
    }
  }

  private static func run(
    _ options: Options, in shell: Shell, until interruption: Future<Int32>
  ) async -> Int32 {
    do { return try await build(options, in: shell, until: interruption) } catch {
      Console.complain(error.message)
      return ExitCode.failed
    }
  }

  private static func build(
    _ options: Options, in shell: Shell, until interruption: Future<Int32>
  ) async throws -> Int32 {
    for folder in options.folders {
      do throws(SystemError) { try systemCall { chdir(folder) } } catch {
        Console.complain("cannot go to '\(folder.visible)': \(error)")
        return ExitCode.wrongInput
      }
    }
    let file = URL(fileURLWithPath: options.file)
    let folder = Folder(url: file.deletingLastPathComponent(), buildsAll: options.buildsAll)
    let description: Description
    let plan: Plan
    do {
      description = try Description(file: file)
      plan = try Plan(description, targets: options.targets) { folder.stamp(of: $0) != nil }
    } catch let error as SystemError {
      Console.complain(
        "cannot read '\(options.file.visible)': \(error); name a build description with -f")
      return ExitCode.wrongInput
    } catch is Description.NotText {
      Console.complain("'\(options.file.visible)' is not UTF-8")
      return ExitCode.wrongInput
    } catch let problems as Description.Problems {
      for problem in problems.list {
        Console.errors.write("\(options.file):\(problem)".visible + "\n")
      }
      return ExitCode.wrongInput
    } catch let unknown as Plan.UnknownTarget {
      Console.complain("\(unknown)".visible)
      return ExitCode.wrongInput
    }

    let name = file.lastPathComponent
    if options.wantsDrawing {
      let graph = try Graph(of: plan, name: name) { rule, _ in Promises.make(promising: Built.self)
      }
      return write(graph.workflow.dot)
    }
    if options.isDryRun {
      let dryRun = DryRun(plan, in: folder, records: Journal.records(in: folder.state(of: name)))
      return write(dryRun.lines.joined(separator: "\n") + "\n")
    }
    // Before the build changes the current folder.
    let tracePath = options.traceFile.map { URL(fileURLWithPath: $0).path }
    let build = try Build(
      of: plan, description, named: name, in: folder, shell: shell, options.detail,
      keepsGoing: options.keepsGoing, launcher: options.launcher)
    defer { build.close() }
    let exitCode = try await run(build, in: shell, until: interruption, options)
    guard let file = options.traceFile, let tracePath else { return exitCode }
    do throws(SystemError) { try TextFile.write(build.graph.workflow.trace, to: tracePath) } catch {
      Console.complain("cannot write '\(file.visible)': \(error)")
      return max(exitCode, ExitCode.failed)
    }
    return exitCode
  }

  private static func run(
    _ build: Build, in shell: Shell, until interruption: Future<Int32>, _ options: Options
  ) async throws -> Int32 {
    let workflow = build.graph.workflow
    workflow.maxConcurrentTaskCount = options.jobs
    // Inline: cancellation must not wait for other threads.
    interruption.onSuccess(on: .inline) { _ in workflow.cancel() }

    let outcome = try await workflow.run()
    let signal = interruption.result?.successValue
    if signal != nil { await shell.waitForEnd() }
    build.reporter.sumUp(wasInterrupted: signal != nil)
    let exitCode = outcome.isFinished ? ExitCode.done : ExitCode.failed
    return signal.map(Interruption.exitCode) ?? exitCode
  }

  private static func write(_ text: String) -> Int32 {
    Console.output.write(text) ? ExitCode.done : ExitCode.failed
  }
}
