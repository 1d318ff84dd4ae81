import Foundation
import Properations
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

  @Test func `a folder that cannot be made fails the job, and settle ends`() async throws {
    let cluster = SlurmCluster(run: "run", folder: URL(fileURLWithPath: "/dev/null/folder"))
    let result = await cluster.run(SlurmJob("true"), as: "job").completion
    #expect(result.isFailure)
    #expect(try await cluster.settle().value == ())
  }
}
