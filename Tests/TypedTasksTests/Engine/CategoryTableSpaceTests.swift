import Foundation
import TestSupport
import Testing

@testable import TypedTasks

/// Every event in every state of three tasks in two queues with one slot each.
@Suite("The table of categories, exhaustively", .timeLimit(.minutes(5)), .oneAtATime)
struct CategoryTableSpaceTests {
  private enum A {}
  private enum B {}

  private static let (a, b) = (TaskCategory(A.self), TaskCategory(B.self))

  /// What a task needs.
  private struct Need {
    let categories: [TaskCategory]
    let queue: Int
  }

  private enum Event {
    case enter(Int), run(Int), end(Int), withdraw(Int)
    case suspend(Int), resume(Int)
    case lookAgain
  }

  /// The tasks and their queues after some events.
  ///
  /// The claims are objects, so a copy of a state would share them: a state is its events,
  /// which are repeated.
  private struct Subject {
    var table = CategoryTable()
    let claims: [CategoryClaim]
    let queues = [SlotUse(), SlotUse()]
    var isSuspended = [false, false]
    /// The task that has the slot of a queue.
    var users: [Int?] = [nil, nil]
    let needs: [Need]

    init(_ needs: [Need]) {
      self.needs = needs
      let queues = queues
      for queue in queues { queue.setLimit(1) }
      claims = needs.enumerated().map { number, need in
        CategoryClaim(number: number, categories: need.categories, slots: queues[need.queue])
      }
    }

    private func hasSlot(for task: Int) -> Bool {
      let queue = needs[task].queue
      return !isSuspended[queue] && users[queue] == nil
    }

    /// Gives the slot of its queue to a task.
    private mutating func takeSlot(_ task: Int) {
      let queue = needs[task].queue
      users[queue] = task
      queues[queue].add()
    }

    private mutating func giveBackSlot(_ task: Int) {
      let queue = needs[task].queue
      guard users[queue] == task else { return }
      users[queue] = nil
      queues[queue].remove()
    }

    /// Whether an event can occur.
    func allows(_ event: Event) -> Bool {
      switch event {
      case .enter(let task): claims[task].phase == .idle
      case .run(let task): claims[task].phase == .asking && hasSlot(for: task)
      case .end(let task): claims[task].phase != .over && claims[task].phase != .idle
      case .withdraw(let task): claims[task].phase == .waiting || claims[task].phase == .asking
      case .suspend(let queue): !isSuspended[queue]
      case .resume(let queue): isSuspended[queue]
      case .lookAgain: true
      }
    }

    mutating func apply(_ event: Event) {
      guard allows(event) else { return }
      switch event {
      case .enter(let task): _ = table.enter(claims[task])
      case .run(let task):
        takeSlot(task)
        if !table.take(claims[task]).isTaken { giveBackSlot(task) }
      case .end(let task):
        _ = table.leave(claims[task])
        giveBackSlot(task)
      case .withdraw(let task): _ = table.withdraw(claims[task])
      case .suspend(let queue):
        isSuspended[queue] = true
        queues[queue].setSuspended(true)
        _ = table.slotsAreGone(queues[queue])
      case .resume(let queue):
        isSuspended[queue] = false
        queues[queue].setSuspended(false)
      case .lookAgain: _ = table.lookAgain()
      }
    }

    /// Everything that distinguishes the state.
    var key: [Int] {
      let phases: [CategoryClaim.Phase] = [.idle, .waiting, .asking, .holding, .over]
      var key = isSuspended.map { $0 ? 1 : 0 }
      for claim in claims {
        // The phase, what is known of the claim, and where it is parked with which others.
        key.append(phases.firstIndex(of: claim.phase) ?? 0)
        key.append(claim.isLate ? 1 : 0)
        let place = claim.group?.place
        key.append(place == nil ? 0 : place == CategoryTableSpaceTests.a ? 1 : 2)
        key.append(claim.group?.common.count ?? 0)
        for other in claim.group?.claims.elements.map(\.number) ?? [] { key.append(10 + other) }
      }
      return key
    }

    private func share(_ one: Int, _ other: Int) -> Bool {
      one != other && needs[one].categories.contains(where: needs[other].categories.contains)
    }

    /// The rule that the state breaks, if it breaks one.
    var fault: String? {
      for task in claims.indices {
        let rivals = claims.indices.filter { share(task, $0) }
        switch claims[task].phase {
        case .holding:
          if rivals.contains(where: { claims[$0].phase == .holding }) {
            return "two hold a category"
          }
          if users[needs[task].queue] != task { return "a task holds a category without a slot" }
        case .waiting:
          guard let place = claims[task].group?.place else { return "a claim is parked nowhere" }
          // What looks at the claim again when it goes on.
          if !rivals.contains(where: {
            needs[$0].categories.contains(place)
              && (claims[$0].phase == .holding || claims[$0].phase == .asking)
          }) {
            return "a claim is parked at a category that no task holds or asks for"
          }
        case .asking, .idle, .over: break
        }
      }
      return nil
    }

    /// Lets everything go on; returns the tasks that have not ended then.
    ///
    /// - Parameter suspended: A queue that is suspended for ever.
    mutating func unfinished(suspended: Int?) -> [Int] {
      for queue in queues.indices { apply(queue == suspended ? .suspend(queue) : .resume(queue)) }
      for task in claims.indices { apply(.enter(task)) }
      var fruitlessLooks = 0
      while fruitlessLooks < 2 {
        if let task = claims.indices.first(where: { claims[$0].phase == .holding }) {
          apply(.end(task))
        } else if let task = claims.indices.first(where: {
          claims[$0].phase == .asking && hasSlot(for: $0)
        }) {
          apply(.run(task))
        } else {
          apply(.lookAgain)
          fruitlessLooks += 1
          continue
        }
        fruitlessLooks = 0
      }
      return claims.indices.filter { claims[$0].phase != .over }
    }
  }

  /// A state, as the events that lead to it.
  private struct Path {
    var events: [Event] = []
    var key: [Int]
    /// The events that can occur in the state.
    var next: [Bool]
  }

  private static let events: [Event] = {
    let (tasks, queues) = (0..<3, 0..<2)
    let ofTasks: [[Event]] = [
      tasks.map { .enter($0) }, tasks.map { .run($0) }, tasks.map { .end($0) },
      tasks.map { .withdraw($0) },
    ]
    return ofTasks.joined() + queues.map { .suspend($0) } + queues.map { .resume($0) }
      + [.lookAgain]
  }()

  private static func repeating(_ events: [Event], _ needs: [Need]) -> Subject {
    var subject = Subject(needs)
    for event in events { subject.apply(event) }
    return subject
  }

  @Test(
    "Three tasks in two queues: none waits for nothing, and no queue waits for another one",
    arguments: [
      [("a", 0), ("a", 0), ("a", 1)], [("a", 0), ("a", 1), ("b", 1)],
      [("a", 0), ("ab", 1), ("b", 0)], [("ab", 0), ("ba", 1), ("a", 1)],
    ])
  func space(_ tasks: [(categories: String, queue: Int)]) {
    let needs = tasks.map { task in
      Need(categories: task.categories.map { $0 == "a" ? Self.a : Self.b }, queue: task.queue)
    }
    let start = Subject(needs)
    var known: Set<[Int]> = []
    let survey = StateSpace.explore(
      from: Path(key: start.key, next: Self.events.map(start.allows)),
      events: Array(Self.events.indices), key: \.key
    ) { path, number in
      guard path.next[number] else { return nil }
      path.events.append(Self.events[number])
      let subject = Self.repeating(path.events, needs)
      path.key = subject.key
      guard known.insert(path.key).inserted else { return nil }
      path.next = Self.events.map(subject.allows)
      return subject.fault ?? Self.stuck(path.events, needs)
    }
    #expect(survey.fault == nil)
    #expect(survey.states > 100)
  }

  /// Who waits for ever after some events, if any task does.
  private static func stuck(_ events: [Event], _ needs: [Need]) -> String? {
    for suspended in [nil, 0, 1] {
      var rest = repeating(events, needs)
      let left = rest.unfinished(suspended: suspended)
      if left.contains(where: { needs[$0].queue != suspended }) {
        return "\(left) wait for ever, suspended: \(suspended as Any)"
      }
      if suspended == nil, !rest.table.isEmpty { return "the table is not empty" }
    }
    return nil
  }
}
