import ExampleSupport
import Foundation
import Properations

/// A little `make`: runs the commands of a build description as a workflow of
/// processes, and the next time only what failed or changed since.
///
///     # The program.
///     hello: hello.o
///         cc -o hello hello.o
///
///     hello.o: hello.c hello.h
///         cc -c hello.c
///
/// A rule is a target, a colon and what it needs; below it, indented, a script
/// for `/bin/sh -e`. What is needed is another target or a file.
///
/// ## From the text to the result
///
/// - `Description` reads the rules, and finds what is wrong with single lines.
/// - `Plan` puts what is wanted in order, and finds unknown prerequisites and
///   cycles.
/// - `Graph` makes a `Workflow` of it: one `FutureWorkflowTask` per target,
///   whose prerequisites are the targets that it needs.
/// - `Builder` is the work of a task. With the results of the prerequisites, a
///   `Stamp` each, it decides whether there is a `Reason` to run the commands.
///   So a target that turns out unchanged spares those that need it.
/// - `Shell` runs a script with `Process.runAsFuture`. Cancelling the workflow
///   cancels the tasks, these their futures, and those their processes.
/// - `Journal` remembers, whatever ends the program, which builds ended well.
/// - `Reporter` is the workflow's delegate; the critical path it prints comes
///   from the workflow's trace.
///
/// How many run at a time is `Workflow.maxConcurrentTaskCount`; that a failure
/// holds up only what depends on it is what workflows do anyway.
@main
@MainActor
enum Command {
  /// What the program tells whoever started it.
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
    let file = URL(fileURLWithPath: options.file)
    let folder = Folder(url: file.deletingLastPathComponent())
    let description: Description
    let plan: Plan
    do {
      guard let data = FileManager.default.contents(atPath: file.path) else {
        Console.complain("cannot read '\(options.file)'; name a build description with -f")
        return ExitCode.wrongInput
      }
      guard let text = String(data: data, encoding: .utf8) else {
        Console.complain("'\(options.file)' is not UTF-8")
        return ExitCode.wrongInput
      }
      description = try Description(text)
      plan = try Plan(description, targets: options.targets) { folder.stamp(of: $0) != nil }
    } catch let problems as Description.Problems {
      for problem in problems.list { Console.errors.write("\(options.file):\(problem)\n") }
      return ExitCode.wrongInput
    } catch let unknown as Plan.UnknownTarget {
      Console.complain("\(unknown)")
      return ExitCode.wrongInput
    }

    let name = file.lastPathComponent
    if options.wantsDrawing {
      let graph = try Graph(of: plan, name: name) { rule, _ in Promises.make(promising: Built.self)
      }
      return write(graph.workflow.dot)
    }
    let state = folder.url.appendingPathComponent(".\(name).state").path
    if options.isDryRun {
      let dryRun = DryRun(plan, in: folder, records: Journal.records(in: state))
      return write(dryRun.lines.joined(separator: "\n") + "\n")
    }
    let journal = try Journal(path: state, keeping: Set(description.rules.map(\.target)))
    let builder = Builder(folder: folder, journal: journal, shell: shell)
    let graph = try Graph(of: plan, name: name, build: builder.build)
    return try await run(graph, in: shell, until: interruption, options)
  }

  private static func run(
    _ graph: Graph, in shell: Shell, until interruption: Future<Int32>, _ options: Options
  ) async throws -> Int32 {
    let workflow = graph.workflow
    workflow.maxConcurrentTaskCount = options.jobs
    let reporter = Reporter(of: graph)
    // Inline: whatever the other threads do, Ctrl-C waits for none of them.
    interruption.onSuccess(on: .inline) { _ in workflow.cancel() }

    let outcome = try await workflow.run()
    let signal = interruption.result?.successValue
    if signal != nil { await shell.waitForEnd() }
    reporter.sumUp(wasInterrupted: signal != nil)
    var exitCode = outcome.isFinished ? ExitCode.done : ExitCode.failed
    if let file = options.traceFile {
      do {
        try TextFile.write(workflow.trace, to: file)
      } catch {
        Console.complain("cannot write '\(file.visible)': \(error)")
        exitCode = ExitCode.failed
      }
    }
    return signal.map(Interruption.exitCode) ?? exitCode
  }

  private static func write(_ text: String) -> Int32 {
    Console.output.write(text) ? ExitCode.done : ExitCode.failed
  }
}
