import Foundation
import TestSupport
import Testing

/// The program as a whole, without a terminal.
@Suite("OrderWorkflow, in lines", .timeLimit(.minutes(5)), .oneAtATime)
struct CommandTests {
  private let program = Program("OrderWorkflow")

  @Test("Automatically, seed 7 fails once, is retried, and finishes with exit code 0")
  func automatic() async throws {
    let outcome = try await program.run(["--auto", "--seed", "7"])
    #expect(outcome.exitCode == 0)
    #expect(outcome.errors.isEmpty)
    #expect(
      outcome.output == """
        Order Product, seed 7
          0.00 s  Create Project: started
          0.00 s  Photo 1: waiting
          0.00 s  Photo 2: waiting
          0.00 s  Metadata: waiting
          1.00 s  Photo 1: finished, lighthouse.jpg
          2.00 s  Create Project: finished, project 7
          2.00 s  Upload Photo 1: started
          2.50 s  Photo 2: finished, harbour.jpg
          2.50 s  Upload Photo 2: started
          4.00 s  Metadata: finished, 'The Coast'
          4.57 s  Upload Photo 1: failed, the connection was lost
          5.57 s  Upload Photo 1: started, attempt 2
          8.50 s  Upload Photo 2: finished, /7/harbour.jpg
         10.57 s  Upload Photo 1: finished, /7/lighthouse.jpg
         10.57 s  Submit Order: started
         12.57 s  Submit Order: finished, 'The Coast' with /7/lighthouse.jpg and /7/harbour.jpg
         12.57 s  All tasks have finished.

        """)
  }

  @Test("The same seed tells the same story; another one another")
  func deterministic() async throws {
    let first = try await program.run(["--auto", "--seed", "12"]).output
    #expect(try await program.run(["--auto", "--seed", "12"]).output == first)
    // The story is the same when time passes.
    #expect(try await program.run(["--auto", "--seed", "12", "--speed", "50"]).output == first)
    #expect(try await program.run(["--auto", "--seed", "13"]).output != first)
  }

  @Test("What always fails is tried three times, and exits with 1")
  func failing() async throws {
    let outcome = try await program.run(["--auto", "--seed", "7", "--failures", "1"])
    #expect(outcome.exitCode == 1)
    #expect(outcome.output.components(separatedBy: "Create Project: failed").count == 4)
    #expect(outcome.output.contains("attempt 3"))
    #expect(!outcome.output.contains("attempt 4"))
    #expect(
      outcome.output.hasSuffix(
        "Not finished: Create Project (Failed), Upload Photo 1 (Pending), "
          + "Upload Photo 2 (Pending), Submit Order (Pending).\n"))
  }

  @Test("Keys are read as lines, each when nothing goes on by itself")
  func keys() async throws {
    let outcome = try await program.run(
      ["--seed", "7", "--failures", "0"], input: "2\n4\n6\n1\nn\n7\ns\n")
    #expect(outcome.exitCode == 0)
    let lines = outcome.output.split(separator: "\n").map(String.init)
    #expect(lines.contains { $0.hasSuffix("> provide Photo 1") })
    // After everything has finished, the project and all tasks downstream are reset.
    #expect(lines.contains { $0.hasSuffix("> reset Create Project") })
    #expect(lines.contains { $0.hasSuffix("> 'n' is no key: press 1 to 7, s, c, r, x or q") })
    #expect(lines.contains { $0.hasSuffix("> Submit Order waits for other tasks") })
    #expect(lines.count { $0.hasSuffix("All tasks have finished.") } == 2)
    #expect(lines.last?.hasSuffix("All tasks have finished.") == true)
  }

  @Test("Everything can be cancelled, retried and reset by keys")
  func allAtOnce() async throws {
    let outcome = try await program.run(
      ["--seed", "7", "--failures", "0"], input: "c\nr\n2\n4\n6\nx\nq\ns\n")
    #expect(outcome.exitCode == 1, "it was left after the reset")
    #expect(outcome.output.contains("Photo 1: cancelled"))
    #expect(outcome.output.contains("All tasks have finished."))
    #expect(
      outcome.output.hasSuffix(
        "Not finished: Create Project (Ready), Photo 1 (Ready), Upload Photo 1 (Pending), "
          + "Photo 2 (Ready), Upload Photo 2 (Pending), Metadata (Ready), "
          + "Submit Order (Pending).\n"))
  }

  @Test("Without keys and without --auto it says what is missing, and exits with 1")
  func noKeys() async throws {
    let outcome = try await program.run(["--seed", "7", "--failures", "0"])
    #expect(outcome.exitCode == 1)
    #expect(outcome.output.contains("Not finished: Photo 1 (Executing), Upload Photo 1 (Pending)"))
  }

  @Test("A drawing goes to standard output alone; after a run it shows the states")
  func drawings() async throws {
    let dot = try await program.run(["--dot"])
    #expect(dot.exitCode == 0)
    #expect(dot.output.hasPrefix("digraph \"Order Product\" {\n"))
    #expect(dot.output.contains("\"Submit Order\\nPending\""))
    #expect(dot.errors.isEmpty)

    let mermaid = try await program.run(["--mermaid", "--auto", "--seed", "7"])
    #expect(mermaid.exitCode == 0)
    #expect(mermaid.output.hasPrefix("flowchart LR\n"))
    #expect(mermaid.output.contains("Submit Order<br/>Finished"))
    #expect(mermaid.errors.hasSuffix("All tasks have finished.\n"))
  }

  @Test("A trace is JSON with an event for each task")
  func trace() async throws {
    let folder = try TemporaryFolder("OrderWorkflowTests")
    let path = folder.file("trace.json").path
    let outcome = try await program.run(["--auto", "--seed", "7", "--trace", path])
    #expect(outcome.exitCode == 0)
    let json = try JSONSerialization.jsonObject(with: Data(contentsOf: folder.file("trace.json")))
    let events = (json as? [String: Any])?["traceEvents"] as? [[String: Any]] ?? []
    let names = events.filter { $0["ph"] as? String == "X" }.compactMap { $0["name"] as? String }
    #expect(names.count == 7 && names.contains("Submit Order"))

    let failed = try await program.run(["--auto", "--trace", "/nowhere/trace.json"])
    #expect(failed.exitCode == 1)
    #expect(failed.errors == "OrderWorkflow: cannot write '/nowhere/trace.json'\n")
  }

  @Test(
    "Wrong usage exits with 2, and tells the usage on standard error",
    arguments: [
      ["--seed"], ["--seed", "-1"], ["--speed", "nan"], ["--speed", "0"], ["--failures", "2"],
      ["--trace", ""], ["more"],
    ])
  func wrongUsage(arguments: [String]) async throws {
    let outcome = try await program.run(arguments)
    #expect(outcome.exitCode == 2)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.hasPrefix("OrderWorkflow: "))
    #expect(outcome.errors.contains("Usage: OrderWorkflow"))
  }

  @Test("Help exits with 0, and is told on standard output")
  func help() async throws {
    let outcome = try await program.run(["--help"])
    #expect(outcome.exitCode == 0)
    #expect(outcome.output.contains("Exit code: 0 if everything has finished"))
    #expect(outcome.errors.isEmpty)
  }
}
