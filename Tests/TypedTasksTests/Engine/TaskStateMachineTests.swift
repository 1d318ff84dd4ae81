import TestSupport
import Testing

@testable import TypedTasks

@Suite("The state machine of tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct TaskStateMachineTests {
  @Test(
    "105. In every order of events, however long, the machine of a task keeps to the model",
    arguments: [false, true], [false, true])
  func everyOrder(hasConditions: Bool, hasCategories: Bool) {
    let start = TaskMachineModel(hasConditions: hasConditions, hasCategories: hasCategories)
    let survey = StateSpace.explore(
      from: start, events: TaskMachineEvent.allCases, key: { $0 }
    ) { model, event in model.apply(event) }
    #expect(survey.fault == nil)
    // (It went somewhere.)
    #expect(survey.states > 100)
  }

  @Test("105. Every sequence of four events, each from the beginning, keeps to the model")
  func everySequence() {
    // Nothing is taken for granted here about what makes two states the same.
    var first: String?
    let count = Interleavings.sequences(of: TaskMachineEvent.allCases, length: 4) { events in
      var model = TaskMachineModel(hasConditions: true, hasCategories: true)
      for event in events where first == nil {
        if let fault = model.apply(event) { first = "\(fault), in \(events)" }
      }
    }
    #expect(first == nil)
    #expect(count == 130_321)
  }

  @Test("A model and a machine that differ are found out, by the shortest sequence")
  func betrayed() throws {
    let start = TaskMachineModel(hasConditions: true, hasCategories: false)
    let survey = StateSpace.explore(
      from: start, events: [.enqueue, .unblock, .start], key: { $0 }
    ) { (model: inout TaskMachineModel, event: TaskMachineEvent) in
      defer { if event == .start { model.betray() } }
      return model.apply(event)
    }
    let fault = try #require(survey.fault)
    let way = ["enqueue", "start", "unblock"].map { "TypedTasksTests.TaskMachineEvent.\($0)" }
    #expect(fault.hasSuffix("after [\(way.joined(separator: ", "))]"))
  }

  @Test("105. The way of a task: waiting, checking, ready, queueing, executing, giving back")
  func way() {
    var machine = TaskStateMachine()
    machine.note(conditions: true, categories: true)
    let early = machine.unblock()
    #expect(early == .none)
    let isEnqueued = machine.enqueue() && machine.block()
    #expect(isEnqueued)
    let steps = [machine.unblock(), machine.unblock()]
    #expect(steps == [.none, .check])
    #expect(machine.phase == .checking)
    let answers = [machine.conditionsAreMet(), machine.conditionsAreMet()]
    #expect(answers == [.queue, .none])
    #expect(machine.phase == .queueing)
    let turn = machine.categoriesMayBeFree()
    #expect(turn == .schedule)
    // It gives its slot up because a dependency has come, and goes on without being
    // asked again.
    let isBlocked = machine.block()
    let start = machine.start()
    #expect(isBlocked && start == .withdraw)
    #expect(machine.phase == .waiting)
    // (One for the dependency, and one until the claim is given up.)
    let next = [machine.unblock(), machine.unblock(), machine.categoriesMayBeFree()]
    #expect(next == [.none, .queue, .schedule])
    // Its categories are taken: it gives its slot up, and asks for one again.
    let second = machine.start()
    #expect(second == .takeCategories)
    let again = machine.categoriesMayBeFree()
    #expect(again == .schedule)
    let third = machine.start()
    let fourth = machine.categoriesAreTaken()
    #expect(third == .takeCategories && fourth == .execute)
    #expect(machine.phase == .executing)
    let isTooLate = !machine.block()
    #expect(isTooLate)
    // A part of the work goes on, and ends after the conclusion.
    let goesOn = machine.workGoesOn()
    let returned = machine.workReturned(endsIfCancelled: true)
    #expect(goesOn && returned == .nothing)
    let ends = machine.end()
    let isOverAtEnd = machine.conclude()
    let isOver = machine.workHasEnded()
    #expect(!ends && !isOverAtEnd && isOver)
  }
}
