import Foundation
import Futures
import TestSupport
import Testing
import Workflows

/// A workflow inside another under schedules that a seed decides.
///
/// That is: messages, starts and ends of tasks of both, in any order. Every step
/// is compared with a model of both and of what ties them together.
// (The 200,000 seeds of the nightly run take more than a minute.)
@Suite("Seeded schedules of subworkflows", .timeLimit(.minutes(10)), .oneAtATime)
struct SeededSubworkflowTests {
  /// Two workflows and their models.
  private final class Program {
    private let outer = Workflow(
      name: "outer", context: .inline, notificationCenter: NotificationCenter())
    private let inner = Workflow(
      name: "inner", context: .inline, notificationCenter: NotificationCenter())
    private var outerTasks: [SeededTask] = []
    private var innerTasks: [SeededTask] = []
    private let model: NestedModel
    /// What the program has done so far.
    private var history: [String] = []

    init(_ generator: inout SeededGenerator, _ tracker: LifetimeTracker) throws {
      var (outerModel, innerModel) = (WorkflowModel(), WorkflowModel())
      // Inside: one to three tasks that somebody has to end, or fulfil.
      for number in 0..<Int.random(in: 1...3, using: &generator) {
        let kinds: [WorkflowModel.Kind] = [
          .open, .open, .finishing, .condition(waits: true), .condition(waits: false),
        ]
        let kind = kinds.randomElement(using: &generator) ?? .open
        let before = (0..<number).filter { _ in Int.random(in: 0..<3, using: &generator) == 0 }
        let task = SeededTask(kind, number, holding: tracker.make())
        try inner.add(task.task, prerequisites: before.map { [innerTasks] in innerTasks[$0].task })
        innerTasks.append(task)
        innerModel.add(kind, behind: before)
      }
      // Outside: one before, the one that runs the others, one behind.
      let object = tracker.make()
      let nested = SubworkflowTask<Int>(name: "1", subworkflow: inner) { _ in
        object.touch()
        return 9
      }
      let isBehind = Bool.random(using: &generator)
      outerTasks = [
        SeededTask(.open, 0, holding: tracker.make()), SeededTask(nested),
        SeededTask(.open, 2, holding: tracker.make()),
      ]
      let before = [[], isBehind ? [0] : [], [1]]
      for (number, kind) in [WorkflowModel.Kind.open, .driven, .open].enumerated() {
        let prerequisites = before[number].map { [outerTasks] in outerTasks[$0].task }
        try outer.add(outerTasks[number].task, prerequisites: prerequisites)
        outerModel.add(kind, behind: before[number])
      }
      model = NestedModel(outer: outerModel, inner: innerModel, sub: 1)
    }

    deinit {
      outer.cancel()
      inner.cancel()
    }

    func act(_ generator: inout SeededGenerator) -> String? {
      let isOuter = Bool.random(using: &generator)
      let (workflow, tasks) = isOuter ? (outer, outerTasks) : (inner, innerTasks)
      func change<Value>(_ body: (inout WorkflowModel) -> Value) -> Value {
        isOuter ? model.changeOuter(body) : model.changeInner(body)
      }
      let number = Int.random(in: tasks.indices, using: &generator)
      let (task, all) = (tasks[number].task, Array(tasks.indices))
      var text = "\(isOuter ? "outer" : "inner") \(number): "
      var isRight = true
      switch Int.random(in: 0..<18, using: &generator) {
      case 0, 1:
        text += "start"
        task.start()
        change { $0.start(number) }
      case 2:
        text += "cancel"
        task.cancel()
        change { $0.send(.cancel, to: [number]) }
      case 3:
        text += "reset"
        task.reset()
        change { $0.send(.reset, to: [number]) }
      case 4, 5:
        text += "retry"
        task.retry()
        change { $0.send(.retry, to: [number]) }
      case 6...9:
        text += "finish"
        isRight = tasks[number].finish() == change { $0.finish(number) }
      case 10:
        text += "fail"
        isRight = task.fail(with: TestError.second) == change { $0.fail(number) }
      case 11, 12:
        text += "fulfil"
        if let fulfill = tasks[number].fulfill {
          isRight = fulfill() == change { $0.fulfill(number) }
        }
      case 13, 14:
        text += "start all"
        workflow.start()
        if isOuter { model.startAll() } else { change { $0.startAll() } }
      case 15:
        text += "cancel all"
        workflow.cancel()
        change { $0.send(.cancel, to: all) }
      case 16:
        text += "reset all"
        workflow.reset()
        change { $0.send(.reset, to: all) }
      default:
        text += "retry all"
        workflow.retry()
        change { $0.send(.retry, to: all) }
      }
      history.append(text)
      let fault = isRight ? difference() : "it took effect, or did not"
      return fault.map { "\($0), after \(history.joined(separator: "; "))" }
    }

    private func difference() -> String? {
      for (number, task) in innerTasks.enumerated() {
        if let fault = task.difference(from: model.inner.tasks[number]) {
          return "inside, \(number) \(fault)"
        }
      }
      for (number, task) in outerTasks.enumerated() {
        if let fault = task.difference(from: model.outer.tasks[number]) {
          return "outside, \(number) \(fault)"
        }
      }
      return nil
    }
  }

  @Test("52. 53. 54. Whatever a seed does to a workflow inside another, both keep to the rules")
  func seeded() async throws {
    try await SeededSchedules.play("SeededSubworkflowTests") { generator in
      let tracker = LifetimeTracker()
      do {
        let program = try Program(&generator, tracker)
        for _ in 0..<Int.random(in: 1...30, using: &generator) {
          if let fault = program.act(&generator) { return fault }
        }
      }
      if tracker.alive == 0 { return nil }
      return await eventually { tracker.alive == 0 } ? nil : "something that a task holds is kept"
    }
  }
}
