import Foundation
import Futures
import TestSupport
import Testing
import Workflows

/// A random graph of tasks with random rules, which end in random ways.
private struct RandomRules: Sendable {
  let workflow = Workflow(name: "random rules")
  let tasks: [BlockWorkflowTask<Int>]
  private let seed: UInt64

  init(seed: UInt64) throws {
    self.seed = seed
    var random = SeededGenerator(seed: seed)
    var tasks: [BlockWorkflowTask<Int>] = []
    for number in 0..<Int.random(in: 2...12, using: &random) {
      let ends = TestLock(SeededGenerator(seed: random.next()))
      let task = BlockWorkflowTask<Int>(name: "\(number)") { run in
        switch ends.withLock({ Int.random(in: 0..<6, using: &$0) }) {
        case 0: run.fail(with: TestError.first)
        case 1: run.skip()
        case 2: run.cancel()
        default: run.finish(with: 1)
        }
      }
      let before = tasks.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
      let rule = TriggerRule.allCases.randomElement(using: &random) ?? .whenAllDone
      tasks.append(try workflow.add(task, prerequisites: before, when: rule))
    }
    self.tasks = tasks
  }

  /// Sends messages from two threads, and lets the workflow come to rest.
  ///
  /// - Returns: What is wrong then.
  func run() async throws -> [String] {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for thread in 0..<2 {
        group.addTask {
          var random = SeededGenerator(seed: seed &+ UInt64(thread) &+ 1)
          for _ in 0..<10 { send(&random) }
        }
      }
      try await group.waitForAll()
    }
    // (What a message has made ready, and did not start, is started.)
    for _ in 0..<2 { _ = try await workflow.run() }
    return tasks.compactMap { wrong(with: $0) }
  }

  private func send(_ random: inout SeededGenerator) {
    guard let task = tasks.randomElement(using: &random) else { return }
    switch Int.random(in: 0..<8, using: &random) {
    case 0, 1: workflow.start()
    case 2: workflow.cancel()
    case 3: workflow.retry()
    case 4: workflow.reset()
    case 5: task.cancel()
    case 6: task.retry()
    default: task.reset()
    }
  }

  /// How a task has ended for those that wait for it, if it has.
  private func end(of task: AnyWorkflowTask) -> WorkflowTaskState? {
    switch task.state {
    case .finished, .failed, .cancelled, .skipped: return task.state
    case .ready, .executing: return nil
    case .pending:
      if task.triggerRule != .whenAllSucceed { return nil }
      let ends = task.prerequisiteTasks.map { end(of: $0) }
      if ends.contains(.failed) { return .failed }
      return ends.contains(.cancelled) ? .cancelled : nil
    }
  }

  /// What cannot be at rest.
  private func wrong(with task: WorkflowTask<Int>) -> String? {
    let ends = task.prerequisiteTasks.map { end(of: $0) }
    func wrong(_ text: String) -> String { "\(task.name), \(task.triggerRule): \(text), \(ends)" }
    if (task.state == .finished) != (task.result != nil) { return wrong("result") }
    if (task.state == .failed) != (task.error != nil) { return wrong("error") }
    switch (task.state, task.triggerRule) {
    case (.ready, _), (.executing, _): return wrong("\(task.state)")
    case (.pending, .whenAllSucceed):
      return ends.contains(.failed) || ends.contains(.cancelled) ? nil : wrong("pending")
    case (.pending, _): return wrong("pending")
    case (.finished, .whenAllSucceed), (.failed, .whenAllSucceed):
      return ends.allSatisfy { $0 == .finished } ? nil : wrong("\(task.state)")
    case (.skipped, .whenAllSucceed):
      return ends.allSatisfy { $0 == .finished || $0 == .skipped } ? nil : wrong("skipped")
    case (.finished, _), (.failed, _), (.skipped, _):
      return ends.contains(nil) ? wrong("\(task.state)") : nil
    case (.cancelled, _): return nil
    }
  }
}

@Suite("Random rules", .timeLimit(.minutes(5)), .oneAtATime)
struct RandomRulesTests {
  @Test("19. random graphs with rules under random messages from two threads come to rest rightly")
  func random() async throws {
    var seeds = SeededGenerator(for: "random rules")
    // A replayed seed is the first one of the sequence.
    var seed = seeds.seed
    for _ in 0..<200 {
      let wrong = try await RandomRules(seed: seed).run()
      #expect(wrong.isEmpty, "PROPERATIONS_SEED=\(seed): \(wrong.prefix(5))")
      if !wrong.isEmpty { return }
      seed = seeds.next()
    }
  }
}
