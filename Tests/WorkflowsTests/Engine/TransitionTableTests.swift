import Foundation
import Futures
import TestSupport
import Testing
import Workflows

/// One cell of the table: what a message does to a task in a state.
struct Cell: Sendable, CustomStringConvertible {
  let message: TaskMessage
  let state: WorkflowTaskState
  /// The state afterwards when all prerequisites have finished, and whether
  /// the task then runs; `nil` for no transition.
  let unblocked: TaskTransition?
  /// The same when some have not.
  let blocked: TaskTransition?

  var description: String { "\(message) \(state)" }

  /// Written out by hand from the specification, not computed.
  static let all: [Cell] = {
    var cells: [Cell] = []
    func row(_ message: TaskMessage, _ entries: [(WorkflowTaskState, TaskTransition?)]) {
      for (state, transition) in entries {
        cells.append(
          Cell(message: message, state: state, unblocked: transition, blocked: transition))
      }
    }
    let (p, r, x, c, f, e) = (
      TaskTransition(.pending), TaskTransition(.ready), TaskTransition(.executing),
      TaskTransition(.cancelled), TaskTransition(.finished), TaskTransition(.failed)
    )
    let go = TaskTransition(.ready, runs: true)
    let none: TaskTransition? = nil
    row(
      .start,
      [
        (.pending, none), (.ready, go), (.executing, none), (.cancelled, none), (.finished, none),
        (.failed, none), (.skipped, none),
      ])
    row(
      .cancel,
      [
        (.pending, c), (.ready, c), (.executing, c), (.cancelled, none), (.finished, none),
        (.failed, none), (.skipped, none),
      ])
    row(
      .finish,
      [
        (.pending, none), (.ready, none), (.executing, f), (.cancelled, none), (.finished, none),
        (.failed, none), (.skipped, none),
      ])
    row(
      .fail,
      [
        (.pending, none), (.ready, none), (.executing, e), (.cancelled, none), (.finished, none),
        (.failed, none), (.skipped, none),
      ])
    row(
      .begin,
      [
        (.pending, none), (.ready, x), (.executing, none), (.cancelled, none), (.finished, none),
        (.failed, none), (.skipped, none),
      ])
    row(
      .skip,
      [
        (.pending, none), (.ready, none), (.executing, TaskTransition(.skipped)),
        (.cancelled, none), (.finished, none), (.failed, none), (.skipped, none),
      ])
    func conditional(
      _ message: TaskMessage,
      _ entries: [(WorkflowTaskState, unblocked: TaskTransition?, blocked: TaskTransition?)]
    ) {
      for (state, unblocked, blocked) in entries {
        cells.append(
          Cell(message: message, state: state, unblocked: unblocked, blocked: blocked))
      }
    }
    conditional(
      .reset,
      [
        (.pending, none, none), (.ready, r, p), (.executing, r, p), (.cancelled, r, p),
        (.finished, r, p), (.failed, r, p), (.skipped, r, p),
      ])
    conditional(
      .retry,
      [
        (.pending, none, none), (.ready, none, none), (.executing, none, none),
        (.cancelled, go, p), (.finished, none, none), (.failed, go, p),
        (.skipped, none, none),
      ])
    conditional(
      .prerequisiteFinished,
      [
        (.pending, go, none), (.ready, none, none), (.executing, none, none),
        (.cancelled, none, none), (.finished, none, none), (.failed, none, none),
        (.skipped, none, none),
      ])
    conditional(
      .added,
      [
        (.pending, none, none), (.ready, none, p), (.executing, none, none),
        (.cancelled, none, none), (.finished, none, none), (.failed, none, none),
        (.skipped, none, none),
      ])
    conditional(
      .prerequisiteRunsAgain,
      [
        (.pending, none, none), (.ready, none, p), (.executing, none, p),
        (.cancelled, none, none), (.finished, none, p), (.failed, none, p), (.skipped, none, p),
      ])
    return cells
  }()

  /// What happens instead when the prerequisites have ended so that the task is not to
  /// run.
  static let becomesSkipped: [(TaskMessage, WorkflowTaskState)] = [
    (.added, .ready), (.prerequisiteFinished, .pending), (.reset, .ready), (.reset, .executing),
    (.reset, .cancelled), (.reset, .finished), (.reset, .failed), (.retry, .cancelled),
    (.retry, .failed),
  ]
  /// What then does not happen.
  static let staysSkipped: [(TaskMessage, WorkflowTaskState)] = [(.reset, .skipped)]
}

@Suite("The transition table", .timeLimit(.minutes(5)), .oneAtATime)
struct TransitionTableTests {
  @Test("6. every cell of the transition table holds in the state machine", arguments: Cell.all)
  func cell(_ cell: Cell) {
    #expect(cell.state.transition(on: cell.message, isUnblocked: true) == cell.unblocked)
    #expect(cell.state.transition(on: cell.message, isUnblocked: false) == cell.blocked)
  }

  @Test(
    "19. every cell holds for prerequisites that have ended so that the task is not to run",
    arguments: Cell.all)
  func skippedCell(_ cell: Cell) {
    func isOne(of cells: [(TaskMessage, WorkflowTaskState)]) -> Bool {
      cells.contains { $0.0 == cell.message && $0.1 == cell.state }
    }
    let transition = cell.state.transition(on: cell.message, verdict: .skipped)
    if isOne(of: Cell.becomesSkipped) {
      #expect(transition == TaskTransition(.skipped))
    } else if isOne(of: Cell.staysSkipped) || cell.unblocked != cell.blocked {
      #expect(transition == nil)
    } else {
      #expect(transition == cell.unblocked)
    }
  }

  @Test("6. the table has ten messages and the second half of start, in seven states each")
  func complete() {
    #expect(Cell.all.count == TaskMessage.allCases.count * WorkflowTaskState.allCases.count)
    #expect(TaskMessage.allCases.count == 11)
    let cells = Set(Cell.all.map(\.description))
    #expect(cells.count == Cell.all.count)
  }

  /// What the public methods make of a task without unfinished prerequisites.
  @Test(
    "6. every public message in every state does to a real task what the table says",
    arguments: [TaskMessage.start, .cancel, .reset, .retry, .finish, .fail],
    WorkflowTaskState.allCases)
  func publicMessage(_ message: TaskMessage, in state: WorkflowTaskState) throws {
    let workflow = inlineWorkflow()
    let task = OpenTask(name: "task")
    try bring(task, to: state, in: workflow)
    let runs = task.runs.value
    switch message {
    case .start: task.start()
    case .cancel: task.cancel()
    case .reset: task.reset()
    case .retry: task.retry()
    case .finish: #expect(task.finish(with: 3) == (state == .executing))
    case .fail: #expect(task.fail(with: TestError.second) == (state == .executing))
    default: return
    }
    let cell = try #require(Cell.all.first { $0.message == message && $0.state == state })
    let expected = state == .pending ? cell.blocked : cell.unblocked
    // Inline, what runs executes at once.
    let after = expected.map { $0.runs ? .executing : $0.state } ?? state
    #expect(task.state == after)
    #expect(task.runs.value == runs + (expected?.runs == true ? 1 : 0))
    switch after {
    case .finished:
      #expect(task.result == (state == .executing ? 3 : 7))
      #expect(task.error == nil && task.finishDate != nil)
    case .failed:
      #expect(task.error as? TestError == (state == .executing ? .second : .first))
      #expect(task.result == nil && task.finishDate != nil)
    default:
      #expect(task.result == nil && task.error == nil && task.finishDate == nil)
    }
  }

  @Test(
    "6. a finishing prerequisite does to a dependent in every state what the table says",
    arguments: WorkflowTaskState.allCases)
  func prerequisiteFinished(_ state: WorkflowTaskState) throws {
    let workflow = inlineWorkflow()
    let before = try workflow.add(OpenTask(name: "before"))
    let task = OpenTask(name: "task")
    // The dependent gets into its state while the prerequisite is finished,
    // then the prerequisite alone is made to finish once more: only a pending
    // dependent may notice.
    try workflow.add(task, prerequisites: before)
    switch state {
    case .pending: break
    case .cancelled: task.cancel()
    case .ready, .executing, .finished, .failed, .skipped:
      // A prerequisite that finishes has not been finished before, and resetting
      // it resets the dependent: these states cannot meet the message.
      before.start()
      before.finish(with: 1)
      #expect(task.state == .executing)
      if state == .finished { task.finish(with: 1) }
      if state == .failed { task.fail(with: TestError.first) }
      if state == .skipped { task.fail(with: TaskSkipped()) }
      if state == .ready { task.reset() }
      #expect(task.state == state)
      #expect(!before.finish(with: 2))
      #expect(task.state == state)
      return
    }
    before.start()
    before.finish(with: 1)
    #expect(task.state == (state == .pending ? .executing : .cancelled))
  }

  @Test("6. adding a task with unfinished prerequisites makes only a ready one pending")
  func added() throws {
    let workflow = inlineWorkflow()
    let before = try workflow.add(OpenTask(name: "before"))
    let ready = try workflow.add(OpenTask(name: "ready"), prerequisites: before)
    #expect(ready.state == .pending)
    let cancelled = OpenTask(name: "cancelled")
    cancelled.cancel()
    try workflow.add(cancelled, prerequisites: before)
    #expect(cancelled.state == .cancelled)
    before.start()
    before.finish(with: 1)
    let late = try workflow.add(OpenTask(name: "late"), prerequisites: before)
    #expect(late.state == .ready)
    #expect(late.runs.value == 0)
  }
}
