import Foundation
import Properations
import TestSupport
import Testing

@testable import SlurmTasks

/// The tests on a real cluster, which `.ci/cluster` starts.
enum RealCluster {
  /// The folder that the nodes share.
  static let folder = ProcessInfo.processInfo.environment["PROPERATIONS_CLUSTER"]
    .map { URL(fileURLWithPath: $0) }
  /// How many jobs a large run has.
  static let jobs =
    ProcessInfo.processInfo.environment["PROPERATIONS_CLUSTER_JOBS"].flatMap { Int($0) } ?? 20

  /// Runs a program of Slurm, and returns what it prints.
  static func ask(_ program: String, _ arguments: String...) async throws -> String {
    let answer = try await SlurmPrograms().run(program, arguments).value
    #expect(answer.status == 0, "\(answer.errors)")
    return answer.output
  }

  /// The jobs that wait or run.
  static func active(_ name: String) async throws -> [JobState] {
    try await SlurmPrograms().states(of: nil).value.filter {
      $0.isActive && $0.name.hasPrefix("\(name.asJobName).")
    }
  }
}

@Suite(
  "A real cluster", .enabled(if: RealCluster.folder != nil), .timeLimit(.minutes(10)), .serialized)
struct ClusterTests {
  /// Different in each run of the tests.
  private let name = "test-\(UUID().uuidString)"
  private var folder: URL { RealCluster.folder!.appendingPathComponent("%j it's \(name)") }

  private func cluster(limits: [String: Int] = [:]) -> SlurmCluster {
    SlurmCluster(run: name, folder: folder, limits: limits, interval: .milliseconds(100))
  }

  @Test func `output, errors, node and exit codes come back`() async throws {
    let cluster = cluster()
    var job = SlurmJob.script("echo $GREETING; echo bad >&2; pwd")
    job.environment = ["GREETING": "it's me"]
    job.workingFolder = URL(fileURLWithPath: "/usr")
    let result = try await cluster.run(job, as: "good").value
    #expect(result.output == "it's me\n/usr\n" && result.errors == "bad\n")
    #expect(["n1", "n2"].contains(result.node) && result.jobID > 0)
    let failure = await cluster.run(.script("echo no; exit 7"), as: "bad").completion
    guard case .failure(SlurmError.exited(7, let rest)) = failure else {
      Issue.record("\(failure)")
      return
    }
    #expect(rest.output == "no\n")
    let killed = await cluster.run(.script("kill -9 $$"), as: "killed").completion
    guard case .failure(SlurmError.killed(9, _)) = killed else { Issue.record("\(killed)"); return }
  }

  @Test func `an unknown partition and an unknown option are refused, with sbatch's words`()
    async throws
  {
    var job = SlurmJob("true")
    job.partition = "nowhere"
    for _ in 0..<2 {
      let refusal = await cluster().run(job, as: "refused").completion
      guard case .failure(SlurmError.refused(let text)) = refusal else {
        Issue.record("\(refusal)")
        return
      }
      #expect(text.contains("sbatch"))
      job = SlurmJob("true")
      job.options = ["--no-such-option"]
    }
  }

  @Test func `many jobs run, each once, and a task adds up their results`() async throws {
    let cluster = cluster()
    let workflow = Workflow(name: name)
    let count = RealCluster.jobs
    let tasks: [WorkflowTask<SlurmResult>] = try (1...count).map { number in
      try workflow.add(SlurmTask("job \(number)", on: cluster, .script("echo \(number)")))
    }
    let sum = try workflow.add("sum", after: tasks) { results in
      results.reduce(0) { $0 + (Int($1.output.dropLast()) ?? 0) }
    }
    let start = ContinuousClock.now
    #expect(try await workflow.run() == .finished)
    #expect(sum.result == count * (count + 1) / 2)
    #expect(Set(tasks.compactMap { $0.result?.jobID }).count == count)
    // (For the closing report of the script.)
    try Data("\(count) jobs in \(ContinuousClock.now - start)\n".utf8)
      .write(to: folder.appendingPathComponent("time"))
  }

  @Test func `a cancelled run leaves no job behind`() async throws {
    let cluster = cluster()
    let workflow = Workflow(name: name)
    for number in 1...12 {
      try workflow.add(SlurmTask("job \(number)", on: cluster, SlurmJob("sleep", "600")))
    }
    let run = Task { try await workflow.run() }
    try await until { try await RealCluster.active(name).count >= 6 }
    workflow.cancel()
    guard case .cancelled = try await run.value else { Issue.record("not cancelled"); return }
    _ = await cluster.settle().completion
    try await until { try await RealCluster.active(name).isEmpty }
  }

  @Test func `no more jobs than the limit are in a partition at a time`() async throws {
    let cluster = cluster(limits: ["second": 2])
    let futures = (1...6).map { number in
      var job = SlurmJob.script("echo + >> limit; sleep 0.3; echo - >> limit")
      job.partition = "second"
      job.workingFolder = folder
      return cluster.run(job, as: "job \(number)")
    }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for future in futures { _ = try await future.value }
    let text = try String(contentsOf: folder.appendingPathComponent("limit"), encoding: .utf8)
    var (running, most) = (0, 0)
    for line in text.split(separator: "\n") {
      running += line == "+" ? 1 : -1
      most = max(most, running)
    }
    #expect(most <= 2 && running == 0 && text.count == 24)
  }

  @Test func `the node of a job fails: the task submits it again`() async throws {
    let cluster = cluster()
    let workflow = Workflow(name: name)
    var job = SlurmJob.script("echo $SLURMD_NODENAME >> nodes; [ -e go ] || sleep 600; echo done")
    job.partition = "second"
    job.workingFolder = folder
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let task = try workflow.add(SlurmTask("job", on: cluster, job))
    let run = Task { try await workflow.run() }
    let nodes = folder.appendingPathComponent("nodes")
    try await until { FileManager.default.fileExists(atPath: nodes.path) }
    try Data().write(to: folder.appendingPathComponent("go"))
    _ = try await RealCluster.ask(
      "scontrol", "update", "nodename=n2", "state=down", "reason=test")
    try await until { task.failedAttempts.count == 1 }
    _ = try? await SlurmPrograms().run("scontrol", ["update", "nodename=n2", "state=resume"]).value
    #expect(try await run.value == .finished)
    #expect(task.result?.output == "done\n")
    guard case SlurmError.nodeFailed("n2", _)? = task.failedAttempts.first?.error else {
      Issue.record("\(task.failedAttempts)")
      return
    }
    #expect(try String(contentsOf: nodes, encoding: .utf8) == "n2\nn2\n")
  }

  @Test func `a drained node takes no new job, and the job waits until it is back`() async throws {
    let cluster = cluster()
    _ = try await RealCluster.ask("scontrol", "update", "nodename=n2", "state=drain", "reason=test")
    var job = SlurmJob("true")
    job.partition = "second"
    let waiting = cluster.run(job, as: "waiting")
    let elsewhere = try await withThrowingTaskGroup { group in
      for number in 1...4 {
        group.addTask { try await cluster.run(SlurmJob("true"), as: "job \(number)").value.node }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(elsewhere == ["n1"] && !waiting.isFulfilled)
    _ = try await RealCluster.ask("scontrol", "update", "nodename=n2", "state=resume")
    #expect(try await waiting.value.node == "n2")
  }

  @Test func `a killed coordinator finds its jobs again, and none runs twice`() async throws {
    let program = Program("slurm-demo")
    let arguments = [folder.path, "--run", "again", "--jobs", "12", "--seconds", "1"]
    let process = Process()
    process.executableURL = program.url
    process.arguments = arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let end = try Program.launch(process)
    let log = folder.appendingPathComponent("again.log")
    try await until { ((try? String(contentsOf: log, encoding: .utf8)) ?? "").count > 6 }
    kill(process.processIdentifier, SIGKILL)
    _ = await end.completion
    let outcome = try await program.run(arguments)
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    #expect(outcome.output == "78\n")
    let text = try String(contentsOf: log, encoding: .utf8)
    let numbers = text.split(separator: "\n").compactMap { Int($0) }
    #expect(numbers.sorted() == Array(1...12))
    // A third start has nothing to do.
    let third = try await program.run(arguments)
    #expect(third.output == "78\n" && third.errors.contains("12 results from the journal"))
  }

  @Test func `Ctrl-C cancels the jobs of the program`() async throws {
    let program = Program("slurm-demo")
    let process = Process()
    process.executableURL = program.url
    process.arguments = [folder.path, "--run", name, "--jobs", "5", "--seconds", "600"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let end = try Program.launch(process)
    try await until { try await RealCluster.active(name).count == 5 }
    kill(process.processIdentifier, SIGINT)
    #expect(try await end.value == 130)
    try await until { try await RealCluster.active(name).isEmpty }
  }

  /// Repeats a check until it holds.
  private func until(_ condition: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + Event.patience
    while try await !condition() {
      if ContinuousClock.now > end { Issue.record("It has not come true in time."); return }
      try await Task.sleep(for: .milliseconds(50))
    }
  }
}
