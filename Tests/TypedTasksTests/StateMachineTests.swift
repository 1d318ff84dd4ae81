import Testing

@testable import TypedTasks

@Suite("The state machine of tasks", .timeLimit(.minutes(1)))
struct TaskStateMachineTests {
  private enum Event: CaseIterable {
    case block, unblock, met, free, run, returned, cancel, told, enqueued, end
  }

  /// Every order of eight events, with what must be true after each.
  @Test("105. In every order of events the work begins at most once, and never after the end")
  func exhaustive() {
    var count = 0
    for hasConditions in [false, true] {
      for settlesAtOnce in [false, true] {
        var sequence: [Event] = []
        func go(_ machine: TaskStateMachine, _ runs: Int, _ tells: Int, _ busy: Int, depth: Int) {
          count += 1
          if runs > 1 || tells > 1 { Issue.record("\(sequence)") }
          guard depth > 0 else { return }
          for event in Event.allCases {
            var next = machine
            var (runs, tells, busy) = (runs, tells, busy)
            let hadEnded = next.phase == .ended
            switch event {
            case .block: _ = next.block()
            case .unblock: _ = next.unblock()
            case .met: _ = next.conditionsAreMet()
            case .free: _ = next.categoriesAreFree()
            case .run:
              if next.run() {
                runs += 1
                if hadEnded { Issue.record("runs after the end: \(sequence)") }
              }
            case .returned: _ = next.workReturned(endsIfCancelled: true)
            case .cancel:
              if case .tell = next.cancel(settlesAtOnce: settlesAtOnce) {
                tells += 1
                busy += 1
              }
            case .told, .enqueued:
              guard busy > 0 else { continue }
              busy -= 1
              _ = next.isNoLongerBusy()
            case .end:
              if next.end(), busy > 0 { Issue.record("ends while busy: \(sequence)") }
              if next.phase != .ended { Issue.record("no end: \(sequence)") }
            }
            if hadEnded, next.phase != .ended { Issue.record("comes back: \(sequence), \(event)") }
            sequence.append(event)
            go(next, runs, tells, busy, depth: depth - 1)
            sequence.removeLast()
          }
        }
        var machine = TaskStateMachine()
        machine.note(conditions: hasConditions, categories: hasConditions)
        if !machine.enqueue() { Issue.record("cannot be enqueued") }
        if machine.enqueue() { Issue.record("enqueued twice") }
        go(machine, 0, 0, 1, depth: 4)
      }
    }
    #expect(count > 10_000)
  }

  @Test("105. The way of a task: waiting, checking, queueing, ready, executing")
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
    let step = machine.categoriesAreFree()
    #expect(step == .schedule)
    // It gives its slot up, and goes on later without being asked again.
    let runs = machine.block() && machine.run()
    #expect(!runs)
    #expect(machine.phase == .waiting)
    let next = machine.unblock()
    #expect(next == .schedule)
    let attempts = [machine.run(), machine.run(), machine.block()]
    #expect(attempts == [true, false, false])
    #expect(machine.phase == .executing)
  }
}
