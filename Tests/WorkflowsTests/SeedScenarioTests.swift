import Foundation
import Futures
import TestSupport
import Testing
import Workflows

/// The situations that the original's introduction shows.
@Suite("Scenarios of the original", .timeLimit(.minutes(5)), .oneAtATime)
struct SeedScenarioTests {
  /// Runs a graph given by names and prerequisites; returns the order of the
  /// beginnings and ends.
  private func run(_ graph: [(String, [String])]) async throws -> [String] {
    let workflow = Workflow(name: "scenario")
    let log = Log<String>()
    var tasks: [String: AnyWorkflowTask] = [:]
    for (name, prerequisites) in graph {
      tasks[name] = try workflow.add(
        BlockWorkflowTask<Void>(name: name) { task in
          log.append("+" + name)
          log.append("-" + name)
          task.finish()
        }, prerequisites: prerequisites.compactMap { tasks[$0] })
    }
    #expect(try await workflow.run().isFinished)
    return log.entries
  }

  @Test("60. A; A+B; A and B; (A and B)+C; A and (B+C)")
  func graphs() async throws {
    #expect(try await run([("a", [])]) == ["+a", "-a"])
    #expect(try await run([("a", []), ("b", ["a"])]) == ["+a", "-a", "+b", "-b"])
    #expect(Set(try await run([("a", []), ("b", [])])) == ["+a", "-a", "+b", "-b"])
    let join = try await run([("a", []), ("b", []), ("c", ["a", "b"])])
    #expect(join.suffix(2) == ["+c", "-c"])
    let branch = try await run([("a", []), ("b", []), ("c", ["b"])])
    let (b, c) = (branch.firstIndex(of: "-b"), branch.firstIndex(of: "+c"))
    #expect(try #require(b) < #require(c))
  }

  private final class Mapper: Sendable {
    func map(_ task: TaskWork<Int>) {
      guard let json = task.anyPrerequisiteResult as? [String: Int], let id = json["id"] else {
        task.fail(with: TestError.first)
        return
      }
      task.finish(with: id)
    }
  }

  @Test("60. a request, and a method that maps its result")
  func mapping() async throws {
    let workflow = Workflow(name: "API")
    let request = BlockWorkflowTask<[String: Int]>(name: "API Request") { task in
      DispatchQueue.global().async { task.finish(with: ["id": 7]) }
    }
    let mapper = Mapper()
    let mapping = MethodWorkflowTask(
      name: "Map API Result", target: mapper, method: Mapper.map)
    try workflow.add(request)
    try workflow.add(mapping, prerequisites: [request])
    #expect(try await workflow.run().isFinished)
    #expect(mapping.result == 7)
  }

  @Test("60. results of keyed prerequisites, in a subclass that requires them")
  func keyed() async throws {
    final class Assign: WorkflowTask<String>, @unchecked Sendable {
      override var requiredPrerequisiteKeys: Set<AnyHashable> { ["userTask", "addressTask"] }
      override func main() {
        guard let user = prerequisiteResult(forKey: "userTask") as? String,
          let address = prerequisiteResult(forKey: "addressTask") as? String
        else {
          fail(with: TestError.first)
          return
        }
        finish(with: "\(user), \(address)")
      }
    }
    let workflow = Workflow(name: "keys")
    let user = try workflow.add(BlockWorkflowTask<String>(name: "user") { $0.finish(with: "Ada") })
    let address = try workflow.add(
      BlockWorkflowTask<String>(name: "address") { $0.finish(with: "London") })
    let assign = try workflow.add(
      Assign(), keyedPrerequisites: ["userTask": user, "addressTask": address])
    #expect(try await workflow.run().isFinished)
    #expect(assign.result == "Ada, London")
  }

  @Test("60. a request that waits for the user's input")
  func input() async throws {
    let workflow = Workflow(name: "input")
    let input = try workflow.add(ExternalConditionTask<String>(name: "Get input"))
    let request = try workflow.add(
      AsyncWorkflowTask<String>(name: "request") { try "sent \($0.result(of: input))" },
      prerequisites: input)
    _ = try await workflow.run()
    #expect(request.state == .pending)
    let future = request.future
    input.fulfill(with: "42")
    #expect(try await future.value == "sent 42")
  }

  @Test("60. an image: available, filtered by a workflow, uploaded")
  func image() async throws {
    let workflow = Workflow(name: "Upload Image")
    let available = ExternalConditionTask<String>(name: "available")
    let filters = Workflow(name: "filters")
    let sharpen = try filters.add(
      BlockWorkflowTask<String>(name: "sharpen") { task in
        task.finish(with: (available.result ?? "?") + " sharpened")
      })
    let filter = SubworkflowTask(subworkflow: filters)
    let upload = AsyncWorkflowTask<String>(name: "upload") { task in
      _ = try task.result(of: filter)
      return "uploaded \(sharpen.result ?? "?")"
    }
    try workflow.add(available)
    try workflow.add(filter, prerequisites: [available])
    try workflow.add(upload, prerequisites: [filter])
    available.fulfill(with: "image")
    #expect(try await workflow.run().isFinished)
    #expect(upload.result == "uploaded image sharpened")
  }
}
