import Futures
import TestSupport
import Testing
import Workflows

private struct Oops: Error {}

/// Messages to single tasks of a workflow with rules cost what they reach.
@Suite(.enabled(if: isStressing && isFullSize), .timeLimit(.minutes(5)), .serialized)
struct GrowthOfMessagesTests {
  private static let bound = 8.0

  private static func ratio(_ body: @escaping @Sendable (Int) -> () -> Void) async throws -> Double
  {
    try await Growth.ratioOnSmallStack(below: bound, of: body)
  }

  /// Tasks that finish, fail or stay open, and one behind all of them with a rule.
  private static func join(
    _ count: Int, _ work: @escaping @Sendable (TaskWork<Int>) -> Void
  ) -> (Workflow, [BlockWorkflowTask<Int>]) {
    let workflow = Workflow(name: "join", context: .inline)
    let tasks = (0..<count).map { BlockWorkflowTask<Int>(name: "\($0)", block: work) }
    for task in tasks { try! workflow.add(task) }
    let cleanUp = BlockWorkflowTask<Int>(name: "clean up") { $0.finish(with: 1) }
    try! workflow.add(cleanUp, prerequisites: tasks, when: .whenAllDone)
    workflow.start()
    return (workflow, tasks)
  }

  /// Sends a message to each task; a workflow that was released would ignore it.
  private static func send(
    _ message: (AnyWorkflowTask) -> Void, to tasks: [AnyWorkflowTask], of workflow: Workflow
  ) {
    #expect(tasks.allSatisfy { $0.workflow === workflow })
    for task in tasks { message(task) }
  }

  @Test func `single cancellations in front of a join with a rule`() async throws {
    let ratio = try await Self.ratio { count in
      let (workflow, tasks) = Self.join(count) { _ in }
      return { Self.send({ $0.cancel() }, to: tasks, of: workflow) }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `single resets in front of a join with a rule`() async throws {
    let ratio = try await Self.ratio { count in
      let (workflow, tasks) = Self.join(count) { $0.finish(with: 1) }
      return { Self.send({ $0.reset() }, to: tasks, of: workflow) }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `single retries in front of a join with a rule`() async throws {
    let ratio = try await Self.ratio { count in
      let (workflow, tasks) = Self.join(count) { $0.fail(with: Oops()) }
      return { Self.send({ $0.retry() }, to: tasks, of: workflow) }
    }
    #expect(ratio < Self.bound)
  }

  /// Tasks in a row, each behind the one before.
  private static func row(
    _ count: Int, _ work: @escaping @Sendable (TaskWork<Int>) -> Void
  ) -> (Workflow, [BlockWorkflowTask<Int>]) {
    let workflow = Workflow(name: "row", context: .inline)
    var tasks: [BlockWorkflowTask<Int>] = []
    for number in 0..<count {
      let task = BlockWorkflowTask<Int>(name: "\(number)", block: work)
      try! workflow.add(task, prerequisites: tasks.suffix(1).map { $0 })
      tasks.append(task)
    }
    workflow.start()
    return (workflow, tasks)
  }

  @Test func `a message to each task of a row, from the first to the last`() async throws {
    let messages: [@Sendable (AnyWorkflowTask) -> Void] = [
      { $0.cancel() }, { $0.reset() }, { $0.retry() },
    ]
    for message in messages {
      let ratio = try await Self.ratio { count in
        let (workflow, tasks) = Self.row(count) { _ in }
        return { Self.send(message, to: tasks, of: workflow) }
      }
      #expect(ratio < Self.bound)
    }
  }

  @Test func `a reset of each task of a finished row, from the last to the first`() async throws {
    let ratio = try await Self.ratio { count in
      let (workflow, tasks) = Self.row(count) { $0.finish(with: 1) }
      return { Self.send({ $0.reset() }, to: tasks.reversed(), of: workflow) }
    }
    #expect(ratio < Self.bound)
  }

  @Test func `clean-up tasks that fail one after the other, each ending the run`() async throws {
    let ratio = try await Self.ratio { count in
      let workflow = Workflow(name: "clean-up", context: .inline)
      workflow.failFast = true
      let work = BlockWorkflowTask<Int>(name: "work") { $0.fail(with: Oops()) }
      try! workflow.add(work)
      for number in 0..<count {
        let cleanUp = BlockWorkflowTask<Int>(name: "\(number)") { $0.fail(with: Oops()) }
        try! workflow.add(cleanUp, prerequisites: [work], when: .whenAllDone)
      }
      return { workflow.start() }
    }
    #expect(ratio < Self.bound)
  }

  @Test(arguments: [true, false])
  func `clean-up tasks that fail beside a finished condition or a finished workflow inside`(
    _ isCondition: Bool
  ) async throws {
    let ratio = try await Self.ratio { count in
      let workflow = Workflow(name: "clean-up", context: .inline)
      workflow.failFast = true
      if isCondition {
        let condition = ExternalConditionTask<Int>(name: "condition")
        condition.fulfill(with: 1)
        try! workflow.add(condition)
      } else {
        try! workflow.add(SubworkflowTask(subworkflow: Self.join(1) { $0.finish(with: 1) }.0))
      }
      let work = BlockWorkflowTask<Int>(name: "work") { $0.fail(with: Oops()) }
      try! workflow.add(work)
      for number in 0..<count {
        let cleanUp = BlockWorkflowTask<Int>(name: "\(number)") { $0.fail(with: Oops()) }
        try! workflow.add(cleanUp, prerequisites: [work], when: .whenAllDone)
      }
      return { workflow.start() }
    }
    #expect(ratio < Self.bound)
  }
}
