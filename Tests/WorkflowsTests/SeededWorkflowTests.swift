import Foundation
import Futures
import TestSupport
import Testing
import Workflows

/// Small workflows under schedules that a seed decides.
///
/// That is: what happens to which task and to the whole, which prerequisites are added when, and when the
/// context comes for what is ready. Every step is compared with a model of the
/// rules; the model's states are the oracle of the real ones.
// (The 200,000 seeds of the nightly run take more than a minute.)
@Suite("Seeded schedules of workflows", .timeLimit(.minutes(10)), .oneAtATime)
struct SeededWorkflowTests {
  /// One workflow and its model.
  private final class Program {
    private let context = ManualContext()
    private let isInline: Bool
    private let tracker: LifetimeTracker
    private var workflow: Workflow
    private var tasks: [SeededTask] = []
    private var model = WorkflowModel()
    private var outcomes: [Future<WorkflowOutcome>] = []
    /// Works that were taken out of runs, perhaps long over.
    private var works: [(task: Int, run: Int, work: TaskWork<Int>)] = []

    init(isInline: Bool, tracker: LifetimeTracker) {
      self.isInline = isInline
      self.tracker = tracker
      workflow =
        isInline
        ? Workflow(name: "seeded", context: .inline, notificationCenter: NotificationCenter())
        : Workflow(name: "seeded", context: context, notificationCenter: NotificationCenter())
    }

    deinit { workflow.cancel() }

    // MARK: Building

    func addTask(_ generator: inout SeededGenerator) -> String? {
      let kind = WorkflowModel.Kind.random(using: &generator)
      let before = tasks.indices.filter { _ in Int.random(in: 0..<3, using: &generator) == 0 }
      let task = SeededTask(kind, tasks.count, holding: tracker.make())
      do {
        try workflow.add(task.task, prerequisites: before.map { tasks[$0].task })
      } catch {
        return "cannot be added: \(error)"
      }
      tasks.append(task)
      model.add(kind, behind: before)
      return nil
    }

    // MARK: One step

    func act(_ generator: inout SeededGenerator) -> String? {
      let (text, fault) = happen(&generator)
      if let fault { return "\(fault), after \(text)" }
      return settled(text)
    }

    private func happen(_ generator: inout SeededGenerator) -> (String, String?) {
      let number = Int.random(in: tasks.indices, using: &generator)
      let other = Int.random(in: tasks.indices, using: &generator)
      let task = tasks[number].task
      switch Int.random(in: 0..<24, using: &generator) {
      case 0, 1:
        task.start()
        model.start(number)
        return ("start \(number)", nil)
      case 2:
        task.cancel()
        model.send(.cancel, to: [number])
        return ("cancel \(number)", nil)
      case 3:
        task.reset()
        model.send(.reset, to: [number])
        return ("reset \(number)", nil)
      case 4, 5:
        task.retry()
        model.send(.retry, to: [number])
        return ("retry \(number)", nil)
      case 6...9:
        let isRight = tasks[number].finish() == model.finish(number)
        return ("finish \(number)", isRight ? nil : "finished, or not")
      case 10:
        let isRight = task.fail(with: TestError.second) == model.fail(number)
        return ("fail \(number)", isRight ? nil : "failed, or not")
      case 11, 12:
        guard let fulfill = tasks[number].fulfill else { return ("nothing", nil) }
        let isRight = fulfill() == model.fulfill(number)
        return ("fulfil \(number)", isRight ? nil : "fulfilled, or not")
      case 13:
        model.expectsOutcome = true
        model.startAll()
        outcomes.append(workflow.start())
        return ("start all", nil)
      case 14:
        workflow.cancel()
        model.send(.cancel, to: Array(tasks.indices))
        return ("cancel all", nil)
      case 15:
        workflow.reset()
        model.send(.reset, to: Array(tasks.indices))
        return ("reset all", nil)
      case 16:
        model.expectsOutcome = true
        model.send(.retry, to: Array(tasks.indices))
        outcomes.append(workflow.retry())
        return ("retry all", nil)
      case 17: return ("let \(other) come before \(number)", addEdge(from: other, to: number))
      case 18: return ("add a task", tasks.count < 7 ? addTask(&generator) : nil)
      case 19:
        let limit = Int.random(in: 1...3, using: &generator)
        workflow.maxConcurrentTaskCount = limit == 3 ? .max : limit
        model.limit = limit == 3 ? .max : limit
        return ("limit to \(limit)", nil)
      case 20:
        if model.tasks[number].state == .executing, let work = tasks[number].work {
          works.append((number, model.tasks[number].runs, work))
        }
        return ("keep the work of \(number)", nil)
      case 21:
        guard let (task, run, work) = works.randomElement(using: &generator) else {
          return ("nothing", nil)
        }
        let isRight = work.finish(with: 5) == model.finish(task, run: run)
        return ("finish run \(run) of \(task)", isRight ? nil : "another run was finished")
      default:
        work()
        return ("work", nil)
      }
    }

    /// Lets everything run that can.
    private func work() {
      context.runAll()
      model.work()
      // If this thread had to wait long for the processor, another one asks the context for
      // the next worker, and may be about to do so.
      let end = ContinuousClock.now + Event.patience / 20
      while difference() != nil, ContinuousClock.now < end {
        usleep(500)
        context.runAll()
      }
    }

    private func addEdge(from: Int, to: Int) -> String? {
      let expected = model.addEdge(from: from, to: to)
      do {
        try workflow.addPrerequisite(tasks[from].task, to: tasks[to].task)
        return expected == .added ? nil : "an edge was added, and should be \(expected)"
      } catch WorkflowError.cycle {
        return expected == .cycle ? nil : "a cycle, and should be \(expected)"
      } catch WorkflowError.taskAlreadyBegun {
        return expected == .tooLate ? nil : "too late, and should be \(expected)"
      } catch {
        return "\(error)"
      }
    }

    // MARK: Comparing

    private func difference() -> String? {
      for (number, task) in tasks.enumerated() {
        if let fault = task.difference(from: model.tasks[number]) {
          return "task \(number) \(fault)"
        }
        let names = task.task.prerequisiteTasks.map(\.name)
        if names != model.prerequisites(of: number).map({ "\($0)" }) {
          return "task \(number) waits for \(names)"
        }
      }
      let unfinished = model.tasks.contains { $0.state != .finished }
      if workflow.hasUnfinishedTasks != unfinished { return "has unfinished tasks, or not" }
      if workflow.hasFailedTasks != model.tasks.contains(where: { $0.state == .failed }) {
        return "has failed tasks, or not"
      }
      return differenceOfOutcomes()
    }

    private func differenceOfOutcomes() -> String? {
      if model.isActive {
        return outcomes.contains { $0.isFulfilled } ? "an outcome although tasks are active" : nil
      }
      for outcome in outcomes {
        guard let found = outcome.result?.successValue else { return "no outcome at rest" }
        if describe(found) != model.outcome { return "\(describe(found)), not \(model.outcome)" }
      }
      outcomes = []
      model.expectsOutcome = false
      return nil
    }

    private func describe(_ outcome: WorkflowOutcome) -> String {
      func list(_ tasks: some Sequence<AnyWorkflowTask>) -> String {
        tasks.map(\.name).sorted().joined(separator: " ")
      }
      return switch outcome {
      case .finished: "finished"
      case .failed(let errors): "failed \(list(errors.keys))"
      case .cancelled(let tasks): "cancelled \(list(tasks))"
      case .stuck(let waiting): "stuck \(list(waiting.keys))"
      }
    }

    /// Lets everything run once more from the beginning, as far as it can.
    func end() -> String? {
      workflow.maxConcurrentTaskCount = .max
      model.limit = .max
      if let fault = settled("the last limit") { return fault }
      workflow.reset()
      model.send(.reset, to: Array(tasks.indices))
      if let fault = settled("the last reset") { return fault }
      for (number, task) in tasks.enumerated() {
        guard let fulfill = task.fulfill else { continue }
        if fulfill() != model.fulfill(number) { return "fulfilled, or not, in the end" }
        if let fault = settled("\(number) was fulfilled at last") { return fault }
      }
      model.expectsOutcome = true
      model.startAll()
      outcomes.append(workflow.start())
      if let fault = settled("the last start") { return fault }
      for _ in 0...tasks.count {
        work()
        if let fault = difference() { return "\(fault), in the end" }
        for (number, task) in tasks.enumerated() where model.tasks[number].state == .executing {
          if task.finish() != model.finish(number) { return "finished, or not, in the end" }
          if let fault = settled("\(number) was finished at last") { return fault }
        }
      }
      // What does not fail has been ended by hand; what waits, waits for a failure.
      let isOver = model.tasks.allSatisfy { $0.state == .finished }
      return isOver || workflow.hasFailedTasks ? nil : "it does not come to its end"
    }

    /// Lets the model work where the workflow has worked at once, and compares.
    private func settled(_ event: String) -> String? {
      if isInline { model.work() }
      return difference().map { "\($0), after \(event)" }
    }
  }

  @Test(
    "7. 10. 13. 14. 16. 20. 37. 48. 49. 51. Whatever a seed does to a workflow, it keeps to the rules"
  )
  func seeded() async {
    await SeededSchedules.play("SeededWorkflowTests") { generator in
      let tracker = LifetimeTracker()
      do {
        let program = Program(isInline: Bool.random(using: &generator), tracker: tracker)
        for _ in 0..<Int.random(in: 2...5, using: &generator) {
          if let fault = program.addTask(&generator) { return fault }
        }
        for _ in 0..<Int.random(in: 1...25, using: &generator) {
          if let fault = program.act(&generator) { return fault }
        }
        if let fault = program.end() { return fault }
      }
      if tracker.alive == 0 { return nil }
      return await eventually { tracker.alive == 0 } ? nil : "something that a task holds is kept"
    }
  }
}
