import Foundation
import Futures
import Workflows

/// A workflow with random tasks and random calls, whose events are replayed through a
/// model afterwards.
///
/// It has one to sixty tasks with random edges. Their work finishes or fails at once,
/// later or on another thread. Several threads call tasks and the workflow. The seed
/// decides everything except the interleaving of the threads.
package final class RandomWorkflow: Sendable {
  package let workflow: Workflow
  package let tasks: [BlockWorkflowTask<Int>]
  private let violations = Log<String>()
  private let queue = OperationQueue()
  private let threads: Int
  private let steps: Int
  private let seed: UInt64

  package init(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    self.seed = seed
    let count = Int.random(in: 1...60, using: &generator)
    threads = Int.random(in: 1...3, using: &generator)
    steps = Int.random(in: 0...20, using: &generator)
    queue.maxConcurrentOperationCount =
      [1, 2, 4, OperationQueue.defaultMaxConcurrentOperationCount]
      .randomElement(using: &generator) ?? 1
    workflow = Workflow(
      name: "random \(seed)", operationQueue: queue, notificationCenter: NotificationCenter())
    if Bool.random(using: &generator) {
      workflow.maxConcurrentTaskCount = Int.random(in: 1...4, using: &generator)
    }
    let density = Double.random(in: 0...0.3, using: &generator)
    let failures = Double.random(in: 0...0.2, using: &generator)
    var made: [BlockWorkflowTask<Int>] = []
    for i in 0..<count {
      let work = Work.random(failing: failures, using: &generator)
      let task = BlockWorkflowTask<Int>(name: "\(i)") { [violations] task in
        Self.check(task, violations)
        work.run(task)
      }
      let before = made.filter { _ in Double.random(in: 0..<1, using: &generator) < density }
      try workflow.add(task, prerequisites: before)
      made.append(task)
    }
    tasks = made
  }

  private enum Work {
    case finish, fail, finishLater, failLater, finishOnQueue, cancel

    static func random(failing: Double, using generator: inout SeededGenerator) -> Work {
      if Double.random(in: 0..<1, using: &generator) < failing {
        return [.fail, .failLater, .cancel].randomElement(using: &generator) ?? .fail
      }
      return [.finish, .finish, .finishLater, .finishOnQueue].randomElement(using: &generator)
        ?? .finish
    }

    func run(_ task: TaskWork<Int>) {
      switch self {
      case .finish: task.finish(with: 1)
      case .fail: task.fail(with: TestError.first)
      case .cancel: task.cancel()
      case .finishOnQueue: DispatchQueue.global().async { task.finish(with: 2) }
      case .finishLater:
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.0005) { task.finish(with: 3) }
      case .failLater:
        DispatchQueue.global().asyncAfter(deadline: .now() + 0.0005) {
          task.fail(with: TestError.second)
        }
      }
    }
  }

  /// Checks what work can see: if its run still continues after this look at its
  /// prerequisites, all of them must have finished with results.
  private static func check(_ task: TaskWork<Int>, _ violations: Log<String>) {
    let bad = task.task.prerequisiteTasks.filter { !$0.isFinished || $0.anyResult == nil }
    if !bad.isEmpty, task.isExecuting {
      violations.append("\(task.name) runs before \(bad.map(\.name))")
    }
  }

  /// Drives the workflow to its end, and returns the faults.
  package func run() async -> [String] {
    let told = Log<WorkflowEvent>()
    let observers = observe(told)
    defer { for observer in observers { workflow.notificationCenter.removeObserver(observer) } }
    let (threads, steps, seed) = (threads, steps, seed)
    workflow.start()
    let running = Counter()
    running.add(threads)
    let done = Event()
    for thread in 0..<threads {
      Thread { [self] in
        var generator = SeededGenerator(seed: seed &+ UInt64(thread) &* 7919)
        for _ in 0..<steps { step(&generator) }
        if running.add(-1) == 0 { done.signal() }
      }.start()
    }
    guard await done.opened() else { return ["the threads did not end"] }
    // The outcome comes after everything before it has been told.
    let outcome = workflow.start()
    guard await eventually({ outcome.isFulfilled }) else { return ["no outcome"] }
    return violations.entries + replay(told.entries)
  }

  private func observe(_ told: Log<WorkflowEvent>) -> [any NSObjectProtocol] {
    let names: [(Notification.Name, @Sendable (AnyWorkflowTask) -> WorkflowEvent)] = [
      (.taskDidStart, { .taskDidStart($0) }), (.taskDidFinish, { .taskDidFinish($0) }),
      (.taskDidFail, { .taskDidFail($0) }), (.taskDidCancel, { .taskDidCancel($0) }),
      (.taskDidReset, { .taskDidReset($0) }), (.taskDidRetry, { .taskDidRetry($0) }),
    ]
    let center = workflow.notificationCenter
    var observers = names.map { name, event in
      center.addObserver(forName: name, object: nil, queue: nil) { notification in
        if let task = notification.object as? AnyWorkflowTask { told.append(event(task)) }
      }
    }
    observers.append(
      center.addObserver(forName: .workflowDidFinish, object: nil, queue: nil) { _ in
        told.append(.workflowDidFinish)
      })
    return observers
  }

  private func step(_ generator: inout SeededGenerator) {
    let task = tasks.randomElement(using: &generator)
    switch Int.random(in: 0..<14, using: &generator) {
    case 0, 1: task?.cancel()
    case 2...4: task?.retry()
    case 5, 6: task?.reset()
    case 7, 8: task?.start()
    case 9: workflow.cancel()
    case 10: workflow.retry()
    case 11: workflow.reset()
    case 12: workflow.start()
    default: usleep(200)
    }
  }

  /// Replays the events in a model of the table of states, and returns the differences.
  ///
  /// In the model, `ready` stands for pending and ready, because no event tells of the
  /// change between the two.
  private func replay(_ events: [WorkflowEvent]) -> [String] {
    var wrong: [String] = []
    var model: [AnyWorkflowTask: WorkflowTaskState] = [:]
    for task in tasks { model[task] = .ready }
    func isUnblocked(_ task: AnyWorkflowTask) -> Bool {
      task.prerequisiteTasks.allSatisfy { model[$0] == .finished }
    }
    func move(
      _ task: AnyWorkflowTask, from allowed: Set<WorkflowTaskState>, to state: WorkflowTaskState
    ) {
      guard let old = model[task] else { return }
      if !allowed.contains(old) { wrong.append("\(task.name): \(old) to \(state)") }
      model[task] = state
    }
    var finishes = 0
    var expectedFinishes = 0
    for event in events {
      switch event {
      case .taskDidStart(let task):
        if !isUnblocked(task) { wrong.append("\(task.name) started too early") }
        move(task, from: [.ready], to: .executing)
      case .taskDidFinish(let task):
        move(task, from: [.executing], to: .finished)
        if model.values.allSatisfy({ $0 == .finished }) { expectedFinishes += 1 }
      case .taskDidFail(let task): move(task, from: [.executing], to: .failed)
      case .taskDidCancel(let task): move(task, from: [.ready, .executing], to: .cancelled)
      case .taskDidSkip(let task): wrong.append("\(task.name) was skipped")
      case .taskDidReset(let task):
        move(task, from: [.ready, .executing, .cancelled, .finished, .failed], to: .ready)
      case .taskDidRetry(let task): move(task, from: [.cancelled, .failed], to: .ready)
      case .workflowDidFinish: finishes += 1
      case .workflowWillStart, .workflowWillCancel, .workflowWillReset, .workflowWillRetry,
        .runDidEnd, .taskAttemptDidFail:
        break
      }
    }
    if finishes != expectedFinishes {
      wrong.append("\(finishes) ends told, \(expectedFinishes) expected")
    }
    for task in tasks {
      let (state, expected) = (task.state, model[task])
      switch state {
      case .pending:
        if expected != .ready || isUnblocked(task) { wrong.append("\(task.name) is pending") }
      case .ready:
        // Every ready task was started before the end.
        wrong.append("\(task.name) is ready, in the model \(String(describing: expected))")
      case .executing: wrong.append("\(task.name) still executes")
      case .cancelled, .finished, .failed, .skipped:
        if expected != state { wrong.append("\(task.name) is \(state)") }
      }
      if (state == .finished) != (task.result != nil) { wrong.append("\(task.name): result") }
      if (state == .failed) != (task.error != nil) { wrong.append("\(task.name): error") }
    }
    if workflow.hasUnfinishedTasks != tasks.contains(where: { !$0.isFinished }) {
      wrong.append("hasUnfinishedTasks")
    }
    if workflow.hasFailedTasks != tasks.contains(where: { $0.isFailed }) {
      wrong.append("hasFailedTasks")
    }
    return wrong
  }
}
