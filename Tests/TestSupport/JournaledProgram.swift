import Foundation
import Futures
import Workflows

/// A program that runs a workflow with a journal, and is killed while it runs.
///
/// The seed decides the graph. Each task appends to a file of its own: first, the results
/// that it gets from its prerequisites, and then its own result, which is another number
/// in each run. So the files tell when each result was made, and which results other
/// tasks have seen.
package struct JournaledProgram: Sendable {
  /// The seed of the graph.
  package let seed: UInt64
  /// The path of the folder for the files.
  package let folder: String

  package init(seed: UInt64, folder: String) {
    self.seed = seed
    self.folder = folder
  }

  private struct Step {
    let name: String
    let prerequisites: [Int]
    let isRecorded: Bool
    let isSlow: Bool
  }

  private var steps: [Step] {
    var random = SeededGenerator(seed: seed)
    return (0..<Int.random(in: 8...30, using: &random)).map { i in
      let count = i == 0 ? 0 : Int.random(in: 0...3, using: &random)
      let prerequisites = (0..<count).map { _ in Int.random(in: max(0, i - 6)..<i, using: &random) }
      return Step(
        name: "task\(i)", prerequisites: Array(Set(prerequisites)).sorted(),
        isRecorded: Int.random(in: 0..<4, using: &random) > 0,
        isSlow: Int.random(in: 0..<3, using: &random) == 0)
    }
  }

  private func path(_ name: String) -> String { folder + "/" + name }

  /// Appends a line with one write: a process that is killed has written all of it or
  /// nothing.
  private static func append(_ line: String, to path: String) {
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT, 0o644)
    let bytes = Array((line + "\n").utf8)
    _ = write(descriptor, bytes, bytes.count)
    close(descriptor)
  }

  /// Makes the workflow; returns it and its recorded tasks.
  private func make() throws -> (workflow: Workflow, recorded: [String: WorkflowTask<UInt64>]) {
    let workflow = Workflow(name: "program")
    var tasks: [WorkflowTask<UInt64>] = []
    var recorded: [String: WorkflowTask<UInt64>] = [:]
    for step in steps {
      let before = step.prerequisites.map { tasks[$0] }
      let file = path(step.name)
      let task = AsyncWorkflowTask<UInt64>(name: step.name) { run in
        for task in before { Self.append("saw \(task.name) \(try run.result(of: task))", to: file) }
        if step.isSlow { try await Task.sleep(for: .milliseconds(2)) }
        let result = UInt64.random(in: 0...UInt64.max)
        Self.append("made \(result)", to: file)
        return result
      }
      if step.isRecorded { recorded[step.name] = task.journaled(as: step.name) }
      try workflow.add(task, prerequisites: before)
      tasks.append(task)
    }
    return (workflow, recorded)
  }

  // MARK: In the process that is killed

  /// Continues the workflow until the process is killed: after some time, or at the end
  /// of the workflow.
  ///
  /// - Parameter microseconds: How long the process lives.
  package func run(killedAfter microseconds: UInt32) async -> Never {
    Thread {
      usleep(microseconds)
      kill(getpid(), SIGKILL)
    }.start()
    do {
      let (workflow, _) = try make()
      let journal = WorkflowJournal(url: URL(fileURLWithPath: path("journal")))
      let found = try workflow.resume(from: journal)
      // Killing a process damages no line, and takes no result back.
      if !found.damaged.isEmpty || !found.forgotten.isEmpty || found.damagedLineCount > 0 {
        Self.append("found \(found)", to: path("faults"))
      }
      let outcome = try await workflow.run()
      Self.append("\(outcome)", to: path(outcome.isFinished ? "end" : "faults"))
    } catch {
      Self.append("\(error)", to: path("faults"))
    }
    kill(getpid(), SIGKILL)
    while true { sleep(1) }
  }

  // MARK: In the process that examines the files

  /// Whether the workflow has come to its end.
  package var hasEnded: Bool { FileManager.default.fileExists(atPath: path("end")) }

  private func lines(of name: String) -> [[Substring]] {
    let text = (try? String(contentsOfFile: path(name), encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map { $0.split(separator: " ") }
  }

  /// The faults in the files that the killed processes have left so far.
  package func faults() throws -> [String] {
    var faults = lines(of: "faults").map { $0.joined(separator: " ") }
    var seen: [String: Set<Substring>] = [:]
    for step in steps {
      for line in lines(of: step.name) where line[0] == "saw" {
        seen[String(line[1]), default: []].insert(line[2])
      }
    }
    let (workflow, recorded) = try make()
    try workflow.resume(from: WorkflowJournal(url: URL(fileURLWithPath: path("journal"))))
    defer { workflow.closeJournal() }
    for (name, task) in recorded {
      let last = lines(of: name).last { $0[0] == "made" }?[1]
      let result = task.result.map { "\($0)" }
      let seen = seen[name, default: []]
      if seen.count > 1 { faults.append("\(name): others have seen \(seen)") }
      if let first = seen.first, seen.count == 1, last != first {
        faults.append("\(name) was made again, \(last ?? "-"), after others had seen \(first)")
      }
      if !seen.isEmpty, result == nil { faults.append("\(name) is lost, and others have seen it") }
      if let result, result != last.map({ String($0) }) {
        faults.append("\(name) is restored with \(result), made last was \(last ?? "-")")
      }
      if hasEnded, result == nil { faults.append("\(name) is lost at the end") }
    }
    return faults
  }
}
