import Foundation
import Properations
import TestSupport
import Testing

@testable import SlurmTasks

@Suite("Without Slurm", .timeLimit(.minutes(1)))
struct WithoutSlurmTests {
  @Test func `a program that is not there is an error with its name`() async throws {
    let result = await SlurmPrograms().run("no-such-program-of-slurm", []).completion
    guard case .failure(SlurmError.cannotStart("no-such-program-of-slurm")) = result else {
      Issue.record("\(result)")
      return
    }
  }

  @Test func `a program that prints much does not block`() async throws {
    let answer = try await SlurmPrograms().run(
      "sh", ["-c", "head -c 1000000 /dev/zero | tr '\\0' x; echo bad >&2; exit 3"]
    ).value
    #expect(answer.output.utf8.count == 1_000_000 && answer.status == 3)
    #expect(answer.errors == "bad\n")
  }

  @Test func `a cancellation that fails once is tried again`() async throws {
    let folder = try TemporaryFolder("WithoutSlurmTests")
    try folder.write(
      """
      #!/bin/sh
      cd '\(folder.url.path)'
      echo "$*" >> calls
      test "$(wc -l < calls)" -ge 2

      """, to: "scancel")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: folder.file("scancel").path)
    var programs = SlurmPrograms(environment: ["PATH": "\(folder.url.path):/usr/bin:/bin"])
    programs.cancelRetries = RetryPolicy(attempts: 2)
    try await programs.cancel([7, 8]).value
    #expect(try folder.read("calls") == "7 8\n7 8\n")
  }

  @Test func `a folder that cannot be made fails the job, and settle ends`() async throws {
    let cluster = SlurmCluster(run: "run", folder: URL(fileURLWithPath: "/dev/null/folder"))
    let result = await cluster.run(SlurmJob("true"), as: "job").completion
    #expect(result.isFailure)
    #expect(try await cluster.settle().value == ())
  }
}
