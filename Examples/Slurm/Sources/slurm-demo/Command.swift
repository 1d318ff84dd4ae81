import ExampleSupport
import Foundation
import Properations
import SlurmTasks

/// Measures on a cluster and adds up the results.
///
///     measure 1 ─┐
///     measure 2 ─┼─▶ sum
///     ...       ─┘
///
/// The measurements are jobs; the sum is computed here. If the program is killed, the jobs
/// go on, and the next start finds them.
@main
@MainActor
enum Command {
  static func main() async {
    StandardStreams.prepare()
    let interruption = Interruption.first()
    switch Options.syntax.start(
      Options(), check: { options throws(UsageError) in try options.check() })
    {
    case .exit(let code): exit(code)
    case .run(let options): exit(await run(options, until: interruption))
    }
  }

  private static func run(_ options: Options, until interruption: Future<Int32>) async -> Int32 {
    let folder = URL(fileURLWithPath: options.folder)
    let cluster = SlurmCluster(
      run: options.run, folder: folder, limits: options.limits, interval: .milliseconds(200))
    let workflow = Workflow(name: options.run)
    do {
      let sum = try addTasks(to: workflow, options, cluster)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let resumed = try workflow.resume(
        from: WorkflowJournal(url: folder.appendingPathComponent("\(options.run).journal")))
      if !resumed.restored.isEmpty {
        Console.complain("\(resumed.restored.count.of("result")) from the journal")
      }
      interruption.onSuccess(on: .inline) { _ in workflow.cancel() }
      let outcome = try await workflow.run()
      // Jobs of a cancelled run must be gone when this program is.
      _ = await cluster.settle().completion
      workflow.closeJournal()
      if let total = sum.result { return Console.output.write("\(total)\n") ? 0 : 1 }
      Console.complain(outcome.description)
    } catch {
      Console.complain(error.message.visible)
    }
    return interruption.result?.successValue.map(Interruption.exitCode) ?? 1
  }

  private static func addTasks(
    to workflow: Workflow, _ options: Options, _ cluster: SlurmCluster
  ) throws -> WorkflowTask<Int> {
    let measurements: [WorkflowTask<SlurmResult>] = try (1...options.jobs).map { number in
      var job = SlurmJob.script(
        """
        echo \(number) >> \(options.run).log
        sleep \(options.seconds)
        echo \(number)
        """)
      job.partition = options.partition
      job.workingFolder = URL(fileURLWithPath: options.folder)
      return try workflow.add(SlurmTask("measure \(number)", on: cluster, job))
    }
    return try workflow.add("sum", after: measurements) { results in
      results.reduce(0) { sum, result in
        sum + (Int(result.output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0)
      }
    }
  }
}
