import Futures
import TestSupport
import Testing

@testable import Workflows

@Suite("Recorded tasks behind tasks that are not recorded", .timeLimit(.minutes(5)), .oneAtATime)
struct JournalDistanceTests {
  private let scene: JournalScene

  init() throws { scene = try JournalScene() }

  private func recorded(_ name: String, _ value: Int) -> WorkflowTask<Int> {
    BlockWorkflowTask<Int>(name: name) { $0.finish(with: value) }.journaled(as: name)
  }

  /// Runs a workflow to its end, with the journal.
  @discardableResult
  private func run(
    _ workflow: Workflow, onMismatch policy: WorkflowJournal.MismatchPolicy = .fail
  ) async throws -> WorkflowResumption {
    let resumption = try workflow.resume(from: scene.journal, onMismatch: policy)
    _ = try await workflow.run()
    workflow.closeJournal()
    return resumption
  }

  /// Resumes a workflow that does not fit; returns the tasks that are named.
  private func mismatch(of workflow: Workflow) -> WorkflowResumption? {
    let error = journalError { try workflow.resume(from: scene.journal) }
    guard case .mismatch(let resumption) = error else { return nil }
    return resumption
  }

  /// `b` depends on a task that is not recorded, which adds up what it depends on.
  private func workflow(
    _ names: [String], middleAfter before: [String]
  ) throws -> (Workflow, WorkflowTask<Int>) {
    let workflow = inlineWorkflow()
    var tasks: [String: WorkflowTask<Int>] = [:]
    for (i, name) in names.enumerated() {
      tasks[name] = try workflow.add(recorded(name, i + 1))
    }
    let middle = try workflow.add("middle", after: before.map { tasks[$0]! }) {
      (values: [Int]) in values.reduce(7, +)
    }
    let b = AsyncWorkflowTask<Int>(name: "b") { try $0.result(of: middle) + 100 }
      .journaled(as: "b")
    try workflow.add(b, prerequisites: middle)
    return (workflow, b)
  }

  @Test func `the same program: everything is restored`() async throws {
    try await run(workflow(["a", "c"], middleAfter: ["a", "c"]).0)
    let again = try await run(workflow(["a", "c"], middleAfter: ["c", "a"]).0)
    #expect(again.restored == ["a", "b", "c"])
  }

  @Test func `the recorded task before the other one is gone: what is behind runs again`()
    async throws
  {
    try await run(workflow(["a"], middleAfter: ["a"]).0)
    let (next, b) = try workflow([], middleAfter: [])
    let refused = try #require(mismatch(of: next))
    #expect(refused.unknown == ["a"])
    #expect(refused.changed == [.init(identifier: "b", kind: .prerequisites)])
    let accepted = try await run(next, onMismatch: .runAgain)
    #expect(accepted.restored == [])
    #expect(b.result == 107)
  }

  @Test func `the task between depends on another recorded task: what is behind runs again`()
    async throws
  {
    try await run(workflow(["a", "c"], middleAfter: ["a"]).0)
    let (next, b) = try workflow(["a", "c"], middleAfter: ["c"])
    #expect(mismatch(of: next)?.changed == [.init(identifier: "b", kind: .prerequisites)])
    #expect(try await run(next, onMismatch: .runAgain).restored == ["a", "c"])
    #expect(b.result == 109)
  }

  // MARK: Workflows inside

  /// Makes a workflow with another one inside.
  ///
  /// Recorded are `a` and `c` around, `first` and `last` inside, `end` behind. The task that
  /// runs the inner workflow is not.
  private func nested(
    after before: String, last: Bool = true
  ) throws -> Workflow {
    let (outer, inner) = (inlineWorkflow("outer"), inlineWorkflow("inner"))
    let around = ["a": recorded("a", 1), "c": recorded("c", 2)]
    for name in ["a", "c"] { try outer.add(around[name]!) }
    let first = try inner.add(recorded("first", 3))
    let between = try inner.add("between", after: first) { $0 }
    if last { try inner.add(recorded("last", 4), prerequisites: between) }
    let sub = try outer.add(
      SubworkflowTask(subworkflow: inner), prerequisites: around[before]!)
    try outer.add(recorded("end", 5), prerequisites: sub)
    return outer
  }

  @Test func `the same program with a workflow inside: everything is restored`() async throws {
    try await run(nested(after: "a"))
    #expect(
      try await run(nested(after: "a")).restored == ["a", "c", "end", "first", "last"])
  }

  @Test func `the task around depends on another recorded task: what is inside runs again`()
    async throws
  {
    try await run(nested(after: "a"))
    let next = try nested(after: "c")
    #expect(mismatch(of: next)?.changed == [.init(identifier: "first", kind: .prerequisites)])
    let accepted = try await run(next, onMismatch: .runAgain)
    #expect(accepted.restored == ["a", "c"])
    #expect(accepted.forgotten == ["end", "last"])
  }

  @Test func `a recorded task inside is gone: what is behind the task around runs again`()
    async throws
  {
    try await run(nested(after: "a"))
    let next = try nested(after: "a", last: false)
    let refused = try #require(mismatch(of: next))
    #expect(refused.unknown == ["last"])
    #expect(refused.changed == [.init(identifier: "end", kind: .prerequisites)])
    #expect(
      try await run(next, onMismatch: .runAgain).restored == ["a", "c", "first"])
  }

  // MARK: Failures

  @Test func `a failed recorded task before clean-up is no mismatch: what is behind runs again`()
    async throws
  {
    let runs = Counter()
    func make() throws -> Workflow {
      let workflow = inlineWorkflow()
      let failing = AsyncWorkflowTask<Int>(name: "failing") { _ in throw TestError.first }
      let a = try workflow.add(failing.journaled(as: "a"))
      let middle = try workflow.add("middle", after: a, when: .whenAllDone) { _ in 1 }
      let b = BlockWorkflowTask<Int>(name: "b") { run in
        runs.add()
        run.finish(with: 2)
      }
      try workflow.add(b.journaled(as: "b"), prerequisites: middle)
      return workflow
    }
    try await run(make())
    let again = try await run(make())
    #expect(again.forgotten == ["b"] && !again.hasMismatch)
    #expect(runs.value == 2)
  }
}
