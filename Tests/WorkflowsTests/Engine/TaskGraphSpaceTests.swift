import Foundation
import TestSupport
import Testing

@testable import Workflows

/// Whether the largest graphs run too; `.ci/stress` asks for them.
private let isStressing = ProcessInfo.processInfo.environment["PROPERATIONS_STRESS"] == "1"

/// Every event in every state of small graphs, compared with a model and with
/// the graph's own invariants: so every sequence of events, however long.
///
/// (What an external condition does when it is fulfilled is one of these: it
/// retries, starts or finishes its task.)
@Suite("Orders of a workflow's events", .timeLimit(.minutes(5)), .oneAtATime)
struct TaskGraphSpaceTests {
  /// Tries everything; returns how many states there were.
  private func explore(
    _ prerequisites: [[Int]], _ events: [GraphEvent], rules: [TriggerRule] = [],
    _ location: SourceLocation = #_sourceLocation
  ) -> Int {
    let survey = StateSpace.explore(
      from: TaskGraphModel(prerequisites, rules: rules), events: events, key: \.key
    ) { model, event in model.apply(event) }
    #expect(survey.fault == nil, sourceLocation: location)
    return survey.states
  }

  private func toAll(_ count: Int) -> [GraphEvent] {
    [TaskMessage.cancel, .reset, .retry].map { .message($0, to: Array(0..<count)) }
  }

  @Test("6. 7. 10. One task, with delays, abandoned runs and runs that wait")
  func one() {
    let events = GraphEvent.own(0) + GraphEvent.rare(0) + GraphEvent.messages(0)
    #expect(explore([[]], events) == 10)
  }

  @Test("6. 14. 16. Two tasks in a row, with delays, abandoned runs and runs that wait")
  func pair() {
    let tasks = [0, 1].flatMap { GraphEvent.own($0) + GraphEvent.rare($0) }
    let events = tasks + [0, 1].flatMap(GraphEvent.messages) + toAll(2)
    #expect(explore([[], [0]], events) > 25)
  }

  static let shapesOfThree: [(String, [[Int]])] = [
    ("apart", [[], [], []]), ("in a row", [[], [0], [1]]), ("a fork", [[], [0], [0]]),
    ("a join", [[], [], [0, 1]]), ("a triangle", [[], [0], [0, 1]]),
  ]

  @Test("6. 14. 16. Three tasks in every shape", arguments: shapesOfThree)
  func three(_ name: String, _ prerequisites: [[Int]]) {
    let events = (0..<3).flatMap { GraphEvent.own($0) + GraphEvent.messages($0) } + toAll(3)
    #expect(explore(prerequisites, events) > 25)
  }

  @Test(
    "Three tasks in every shape: a message need not go where it has been",
    arguments: shapesOfThree, [TriggerRule.whenAllSucceed, .whenAllDone])
  func marks(_ shape: (String, [[Int]]), _ last: TriggerRule) {
    var events = (0..<3).flatMap { GraphEvent.own($0) + GraphEvent.messages($0) }
    events += [.addTask(.ready, behind: [2])]
    if shape.1[2].isEmpty { events += [.addEdge(from: 1, to: 2)] }
    let model = TaskGraphModel(shape.1, rules: [.whenAllSucceed, .whenAllSucceed, last])
    let survey = StateSpace.explore(
      from: model, events: isStressing ? events : events.filter { !$0.isOfLast },
      key: \.keyWithMarks
    ) { model, event in model.apply(event) }
    #expect(survey.fault == nil)
    #expect(survey.states > 25)
  }

  // MARK: Rules

  @Test(
    "19. Three tasks in every shape, with every rule of the last two",
    arguments: shapesOfThree, TriggerRule.allCases)
  func rules(_ shape: (String, [[Int]]), _ last: TriggerRule) {
    let events =
      (0..<3).flatMap { GraphEvent.skippable($0) + GraphEvent.messages($0) } + toAll(3)
    for middle in isStressing ? TriggerRule.allCases : [.whenAllSucceed, last] {
      let states = explore(shape.1, events, rules: [.whenAllSucceed, middle, last])
      #expect(states > 5)
    }
  }

  @Test(
    "19. Four tasks, with clean-up and with one that tells of failures",
    arguments: shapesOfFour + [("two into a row", [[], [], [0, 1], [2]])])
  func rulesOfFour(_ name: String, _ prerequisites: [[Int]]) {
    // (Two rows have as many states as one row has, squared.)
    if name == "two rows", !isStressing { return }
    let events =
      (0..<4).flatMap { GraphEvent.own($0) + GraphEvent.messages($0) }
      + [.skip(0), .skip(1)] + toAll(4)
    for rules: [TriggerRule] in [
      [.whenAllSucceed, .whenAllSucceed, .whenAnyFails, .whenAllDone],
      [.whenAllSucceed, .whenAllDone, .whenAllSucceed, .whenAnyFails],
    ] {
      #expect(explore(prerequisites, events, rules: rules) > 25)
    }
  }

  @Test(
    "19. Three tasks with rules that come to wait for one another", arguments: TriggerRule.allCases)
  func edgesWithRules(_ rule: TriggerRule) {
    let all = [0, 1, 2]
    var events: [GraphEvent] = [.addEdge(from: 0, to: 1), .addEdge(from: 1, to: 2)]
    events += isStressing ? [.addEdge(from: 0, to: 2), .addEdge(from: 2, to: 1)] : []
    for task in all { events += GraphEvent.skippable(task) + [.message(.cancel, to: [task])] }
    events += [.message(.reset, to: [0]), .message(.retry, to: all)]
    #expect(explore([[], [], []], events, rules: [.whenAllSucceed, .whenAllSucceed, rule]) > 60)
  }

  static let shapesOfFour: [(String, [[Int]])] = [
    ("a diamond", [[], [0], [0], [1, 2]]), ("a row", [[], [0], [1], [2]]),
    ("two rows", [[], [0], [], [2]]),
  ]

  @Test("14. 28. 30. Four tasks", arguments: shapesOfFour)
  func four(_ name: String, _ prerequisites: [[Int]]) {
    // (Two rows have as many states as one row has, squared.)
    if name == "two rows", !isStressing { return }
    let events = (0..<4).flatMap { GraphEvent.own($0) + GraphEvent.messages($0) } + toAll(4)
    #expect(explore(prerequisites, events) > 60)
  }

  @Test("25. 37. Three tasks that come to wait for one another, in every way and at any time")
  func edges() {
    let all = [0, 1, 2]
    var events = all.flatMap { task in all.map { GraphEvent.addEdge(from: task, to: $0) } }
    for task in all {
      events += [.start(task), .begin(task), .finish(task)]
      events += [.message(.cancel, to: [task]), .message(.reset, to: [task])]
    }
    events.append(.message(.retry, to: all))
    #expect(explore([[], [], []], isStressing ? events : events.filter { !$0.isOfLast }) > 60)
  }

  @Test("37. Tasks that are added at any time, ready or cancelled before")
  func additions() {
    var events: [GraphEvent] = [
      .addTask(.ready, behind: [0]), .addTask(.cancelled, behind: [0]),
      .addTask(.ready, behind: [1, 0]),
    ]
    for task in [0, 1] {
      events += [.start(task), .begin(task), .finish(task)]
      events += [.message(.cancel, to: [task]), .message(.reset, to: [task])]
    }
    events.append(.message(.retry, to: [0]))
    let survey = StateSpace.explore(
      from: TaskGraphModel([[], [0]]), events: events, key: \.key
    ) { model, event in model.apply(event) }
    #expect(survey.fault == nil)
    #expect(survey.states > 100)
  }

  @Test("6. Every sequence of four events of two tasks, each from the beginning")
  func sequences() {
    // Nothing is taken for granted here about what makes two states the same.
    let events = [0, 1].flatMap { GraphEvent.own($0) + GraphEvent.messages($0) }
    let start = TaskGraphModel([[], [0]])
    var first: String?
    let count = Interleavings.sequences(of: events, length: isStressing ? 4 : 3) { events in
      var model = start
      for event in events where first == nil {
        if let fault = model.apply(event) { first = "\(fault), in \(events)" }
      }
    }
    #expect(first == nil)
    #expect(count == (isStressing ? 38_416 : 2_744))
  }

  @Test("A graph that does what the model does not know of is found out")
  func betrayed() throws {
    let survey = StateSpace.explore(
      from: TaskGraphModel([[]]), events: GraphEvent.own(0), key: \.key
    ) { model, event in
      if case .finish = event { model.betray() }
      return model.apply(event)
    }
    let fault = try #require(survey.fault)
    #expect(
      fault.contains("[WorkflowsTests.GraphEvent.start(0), WorkflowsTests.GraphEvent.begin(0)"))
  }
}

extension GraphEvent {
  /// Whether it is one of the third task's own.
  fileprivate var isOfLast: Bool {
    switch self {
    case .fail(2), .message(.reset, to: [2]): true
    default: false
    }
  }
}
