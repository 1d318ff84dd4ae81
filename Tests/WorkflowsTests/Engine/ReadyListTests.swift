import TestSupport
import Testing

@testable import Workflows

@Suite("Lists of ready tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct ReadyListTests {
  @Test("Every sequence of eight goes in and out by priority, then in order")
  func everySequence() {
    var first: String?
    // A priority, or nil to take one out.
    let events: [Int8?] = [-1, 0, 1, nil]
    let count = Interleavings.sequences(of: events, length: 8) { order in
      var list = ReadyList()
      var model: [(priority: Int8, task: TaskIndex)] = []
      for (number, priority) in order.enumerated() where first == nil {
        if let priority {
          list.append(TaskIndex(number), priority: priority)
          model.append((priority, TaskIndex(number)))
        } else {
          let highest = model.map(\.priority).max()
          let place = model.firstIndex { $0.priority == highest }
          let expected = place.map { model.remove(at: $0).task }
          if list.popFirst() != expected { first = "\(order)" }
        }
        if list.count != model.count || list.isEmpty != model.isEmpty { first = "\(order)" }
      }
    }
    #expect(first == nil)
    #expect(count == 65_536)
  }

  @Test("Many priorities keep their order, whatever the order in which they come")
  func manyPriorities() {
    var list = ReadyList()
    let priorities: [Int8] = [3, -4, 0, 7, -1, 3, 100, -128, 7, 0, 127, -4]
    for (task, priority) in priorities.enumerated() {
      list.append(TaskIndex(task), priority: priority)
    }
    let expected = priorities.enumerated().sorted {
      ($0.element, $1.offset) > ($1.element, $0.offset)
    }.map { TaskIndex($0.offset) }
    #expect((0..<12).compactMap { _ in list.popFirst() } == expected)
    #expect(list.popFirst() == nil && list.isEmpty)
  }

  @Test("A long list gives its place back while it is used, and loses nobody")
  func long() {
    var list = ReadyList()
    var (next, expected): (TaskIndex, TaskIndex) = (0, 0)
    for _ in 0..<10 {
      for _ in 0..<3_000 {
        list.append(next, priority: 0)
        next += 1
      }
      for _ in 0..<2_900 {
        #expect(list.popFirst() == expected)
        expected += 1
      }
    }
    while let task = list.popFirst() {
      #expect(task == expected)
      expected += 1
    }
    #expect(expected == next && list.isEmpty)
  }
}
