import Foundation
import TestSupport
import Testing

@testable import SlurmTasks

/// What goes to Slurm, and how its answers are read.
@Suite("Texts of jobs", .timeLimit(.minutes(1)))
struct JobTextTests {
  @Test func `the words of a command survive the shell`() throws {
    let words = ["printf", "%s|", "a b", "it's", "$HOME", "`x`", "", "\"", "\\", "ä\nb"]
    let folder = try TemporaryFolder("JobText")
    let end = folder.file("it's the end")
    var job = SlurmJob(command: words)
    job.environment = ["GREETING": "it's"]
    try folder.write(job.script(notingEndIn: end), to: "script")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [folder.file("script").path]
    process.environment = ["SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1", "PATH": "/usr/bin:/bin"]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(String(decoding: data, as: UTF8.self) == words.dropFirst(2).map { "\($0)|" }.joined())
    #expect(try String(contentsOf: end, encoding: .utf8) == "0 7 n1\n")
  }

  @Test(
    arguments: [
      (nil, nil), (Duration.zero, "1"), (.seconds(-5), "1"), (.seconds(1), "1"),
      (.seconds(60), "1"),
      (.seconds(61), "2"), (.seconds(120), "2"), (.seconds(Int64.max), "35791395"),
    ] as [(Duration?, String?)])
  func `a time limit is rounded up to whole minutes`(_ limit: Duration?, _ minutes: String?) {
    var job = SlurmJob("true")
    job.timeLimit = limit
    #expect(
      job.sbatchOptions.first { $0.hasPrefix("--time") } == minutes.map { "--time=\($0)" })
  }

  @Test func `numbers below one count as one`() {
    var job = SlurmJob("true")
    job.processors = -3
    job.memory = 0
    #expect(job.sbatchOptions.prefix(2) == ["--cpus-per-task=1", "--mem=1M"])
  }

  @Test func `different texts have different names, which are short and without separators`() {
    let long = String(repeating: "x", count: 1_000)
    let texts = [
      "a b", "a=20b", "a|b", "a/b", "a.b", "a,b", "ä", "", "..", "a\nb", long, long + "y",
      String(repeating: "ü", count: 500), String(repeating: "ü", count: 499) + "u",
    ]
    let names = texts.map(\.asJobName)
    #expect(Set(names).count == texts.count)
    for name in names {
      #expect(name.utf8.count <= 160)
      #expect(!name.contains { "|/, \n".contains($0) })
    }
  }

  @Test(
    arguments: [
      ("COMPLETED", .ended), ("FAILED", .ended), ("CANCELLED", .cancelled), ("RUNNING", .active),
      ("PENDING", .active), ("COMPLETING", .active), ("A_STATE_OF_TOMORROW", .active),
      ("NODE_FAIL", .nodeFailed), ("PREEMPTED", .nodeFailed), ("TIMEOUT", .timedOut),
      ("OUT_OF_MEMORY", .outOfMemory),
    ] as [(String, JobState.Phase)])
  func `a line of squeue is read`(_ word: String, _ phase: JobState.Phase) throws {
    let state = try #require(JobState(line: "17|\(word)|768|n2|run.task=20a|NodeDown|"))
    #expect(state.jobID == 17 && state.phase == phase && state.status == 768)
    #expect(state.node == "n2" && state.name == "run.task=20a" && state.reason == "NodeDown")
  }

  @Test func `lines that are none are left out`() {
    #expect(JobState.all(in: "").isEmpty)
    #expect(JobState.all(in: "slurm_load_jobs error\n|||\n1|2\nx|RUNNING|0|n|a|b|\n").isEmpty)
  }

  @Test func `every error says what to do`() {
    let result = SlurmResult(
      jobID: 1, node: "n", output: "", errors: "", outputFile: URL(fileURLWithPath: "/o"),
      errorsFile: URL(fileURLWithPath: "/e"))
    let errors: [SlurmError] = [
      .cannotStart(program: "sbatch"), .refused("No."), .file(path: "/f", reason: "full"),
      .exited(code: 3, result), .killed(signal: 9, result), .nodeFailed(node: "n", reason: "r"),
      .timedOut(jobID: 1), .outOfMemory(jobID: 1), .cancelled(jobID: 1), .vanished(jobID: 1),
    ]
    for error in errors {
      #expect(error.localizedDescription.hasSuffix("."))
      #expect(error.localizedDescription.count > 40)
    }
    #expect(errors.filter(\.isWorthAnotherTry).count == 2)
  }
}
