import Foundation
import TestSupport
import Testing

@testable import TypedTasks

@Suite("The table of categories", .timeLimit(.minutes(5)), .oneAtATime)
struct CategoryTableTests {
  private enum A {}
  private enum B {}
  private enum C {}

  private static let all = [TaskCategory(A.self), TaskCategory(B.self), TaskCategory(C.self)]

  private func claim(
    _ number: Int, _ categories: [TaskCategory], in slots: SlotUse = SlotUse()
  ) -> CategoryClaim {
    CategoryClaim(number: number, categories: categories, slots: slots)
  }

  /// Takes the categories of a claim that has got a slot.
  private func take(_ claim: CategoryClaim, _ table: inout CategoryTable) -> Bool {
    table.take(claim).isTaken
  }

  @Test("What waits for a category that stays held is not looked at when its other ones are free")
  func parked() {
    let (a, b) = (Self.all[0], Self.all[1])
    var table = CategoryTable()
    let holder = claim(1, [b])
    #expect(table.enter(holder).map(\.number) == [1])
    #expect(take(holder, &table))
    let both = (2..<10).map { claim($0, [a, b]) }
    for claim in both {
      #expect(table.enter(claim).isEmpty)
      #expect(claim.group?.place == b)
    }
    for number in 10..<20 {
      let free = claim(number, [a])
      #expect(table.enter(free).map(\.number) == [number])
      #expect(take(free, &table))
      #expect(table.leave(free).isEmpty)
    }
    #expect(table.waiting(behind: holder).count == both.count)
    // What has its turn is the first of them.
    #expect(table.leave(holder).map(\.number) == [2])
    for claim in both {
      #expect(claim.phase == .asking)
      #expect(take(claim, &table))
      #expect(table.waiting(behind: claim).count == 2 * (9 - claim.number))
      _ = table.leave(claim)
    }
    #expect(table.isEmpty)
  }

  @Test("Many claims wait behind one: a search gets the first of them, as many as it asks for")
  func firstOfMany() {
    let (a, b) = (Self.all[0], Self.all[1])
    var table = CategoryTable()
    let holder = claim(1, [a, b])
    #expect(table.enter(holder).map(\.number) == [1])
    #expect(take(holder, &table))
    for number in (2..<1_002).reversed() { #expect(table.enter(claim(number, [a, b])).isEmpty) }
    #expect(table.waiting(behind: holder, limit: 1).map(\.number) == [2])
    #expect(table.waiting(behind: holder, limit: 600).map(\.number) == Array(2..<602))
    let all = Array(2..<1_002)
    #expect(table.waiting(behind: holder, limit: 1_005).map(\.number) == all + all.prefix(5))
    #expect(table.waiting(behind: holder, limit: .max).map(\.number) == all + all)
  }

  @Test("A claim of many categories is looked up once for each change of the holders")
  func manyCategories() {
    let many = (0..<200).map { TaskCategory(A.self, key: "\($0)") }
    var table = CategoryTable()
    let (first, second) = (claim(1, many), claim(2, many))
    #expect(table.enter(first).map(\.number) == [1])
    #expect(table.enter(second).isEmpty)
    #expect(take(first, &table))
    #expect(table.leave(first).map(\.number) == [2])
    #expect(take(second, &table))
    #expect(table.leave(second).isEmpty)
    #expect(first.looks + second.looks < 10)
    #expect(table.isEmpty)
  }

  @Test("A claim whose category is free waits for the next one that is held")
  func moving() {
    let (a, b) = (Self.all[0], Self.all[1])
    var table = CategoryTable()
    let (first, second) = (claim(1, [a]), claim(2, [b]))
    for claim in [first, second] {
      _ = table.enter(claim)
      #expect(take(claim, &table))
    }
    let both = claim(3, [a, b])
    #expect(table.enter(both).isEmpty)
    #expect(both.group?.place == a)
    #expect(table.leave(first).isEmpty)
    #expect(both.group?.place == b)
    #expect(table.leave(second).map(\.number) == [3])
    #expect(take(both, &table))
    _ = table.leave(both)
    #expect(table.isEmpty)
  }

  /// How often claims are looked at while tasks of two categories come and go by turns, and
  /// others wait for both.
  private func looks(_ count: Int, _ waiting: (Int) -> [TaskCategory]) -> Int {
    var table = CategoryTable()
    var number = 0
    func next(_ categories: [TaskCategory]) -> CategoryClaim {
      number += 1
      return claim(number, categories)
    }
    var holders = Self.all.prefix(2).map { next([$0]) }
    for holder in holders {
      _ = table.enter(holder)
      #expect(take(holder, &table))
    }
    let both = (0..<count).map { next(waiting($0)) }
    for claim in both { #expect(table.enter(claim).isEmpty) }
    let before = table.looks
    for _ in 0..<count {
      for (index, category) in Self.all.prefix(2).enumerated() {
        let successor = next([category])
        #expect(table.enter(successor).isEmpty)
        #expect(table.leave(holders[index]).map(\.number) == [successor.number])
        #expect(take(successor, &table))
        holders[index] = successor
      }
    }
    let looks = table.looks - before
    // The first of those that wait has its turn, and then the next ones.
    #expect(table.leave(holders[0]).isEmpty)
    #expect(table.leave(holders[1]).map(\.number) == [both[0].number])
    for claim in both {
      #expect(take(claim, &table))
      _ = table.leave(claim)
    }
    #expect(table.isEmpty)
    return looks
  }

  @Test("Tasks of two categories come and go by turns: few looks at what waits for both")
  func alternating() {
    let (a, b) = (Self.all[0], Self.all[1])
    #expect(looks(500) { $0.isMultiple(of: 2) ? [a, b] : [b, a] } < 500 * 24)
  }

  @Test("The same, where each of those that wait needs a category of its own, too")
  func alternatingBesideOwn() {
    let (a, b) = (Self.all[0], Self.all[1])
    let count = looks(500) { [TaskCategory(C.self, key: "\($0)"), a, b].shuffled(at: $0) }
    #expect(count < 500 * 24)
  }

  @Test("A task asks for the last free slot of its queue: the next of its category waits for it")
  func lastSlot() {
    let (a, queue) = ([Self.all[0]], SlotUse())
    queue.setLimit(1)
    var table = CategoryTable()
    let (first, second) = (claim(1, a, in: queue), claim(2, a))
    #expect(table.enter(first).map(\.number) == [1])
    queue.add()
    #expect(table.enter(second).isEmpty)
    // Other work comes into the queue behind the request.
    queue.add()
    #expect(table.enter(claim(3, a)).isEmpty)
    #expect(take(first, &table))
    #expect(table.leave(first).map(\.number) == [2])
  }

  @Test("A queue has one free slot, a hundred tasks of a category wait: one of them asks for it")
  func oneRequest() {
    let (a, queue) = ([Self.all[0]], SlotUse())
    queue.setLimit(4)
    for _ in 0..<3 { queue.add() }
    var (table, asking) = (CategoryTable(), [Int]())
    for number in 1...100 {
      for claim in table.enter(claim(number, a, in: queue)) {
        queue.add()
        asking.append(claim.number)
      }
    }
    #expect(asking == [1])
  }

  @Test("A task asks for the last slot, and its queue is suspended or limited: the next one asks")
  func lastSlotIsGone() {
    for isSuspended in [true, false] {
      let (a, queue) = ([Self.all[0]], SlotUse())
      queue.setLimit(1)
      var table = CategoryTable()
      let (first, second) = (claim(1, a, in: queue), claim(2, a))
      #expect(table.enter(first).map(\.number) == [1])
      queue.add()
      #expect(table.enter(second).isEmpty)
      if isSuspended { queue.setSuspended(true) } else { queue.setLimit(0) }
      #expect(table.slotsAreGone(queue).map(\.number) == [2])
      #expect(take(second, &table))
      #expect(!take(first, &table))
    }
  }

  @Test("A queue starts nothing: its tasks hold up a category for two looks, and stay in order")
  func stuckQueue() {
    let (both, queue, other) = (Array(Self.all.prefix(2)), SlotUse(), SlotUse())
    var table = CategoryTable()
    let claims = (1...40).map { claim($0, both, in: queue) }
    for claim in claims { _ = table.enter(claim) }
    #expect(claims.filter { $0.phase == .asking }.map(\.number) == [1])
    // Of use to no other queue: one at a time.
    #expect(table.lookAgain().map(\.number) == [2])
    #expect(table.lookAgain().map(\.number) == [3])
    let (next, last) = (claim(41, both, in: other), claim(42, both, in: other))
    for claim in [next, last] { _ = table.enter(claim) }
    #expect(table.lookAgain().map(\.number) == Array(4...41))
    #expect(take(next, &table))
    // The others of the queue hold up nothing any more.
    #expect(table.leave(next).map(\.number) == [42])
    #expect(take(last, &table))
    #expect(table.leave(last).isEmpty)
    #expect(take(claims[0], &table))
    #expect(!take(claims[1], &table))
    #expect(table.leave(claims[0]).map(\.number) == [2])
  }

  @Test("Claims in two categories are late at one look: their queue is not stuck before the next")
  func lateAtOneLook() {
    let (both, queue) = (Array(Self.all.prefix(2)), SlotUse())
    var table = CategoryTable()
    for number in 1...10 { _ = table.enter(claim(number, both, in: queue)) }
    _ = table.enter(claim(11, both))
    #expect(table.lookAgain().map(\.number) == [2])
    #expect(table.lookAgain().map(\.number) == Array(3...11))
  }

  /// All claims of a random program, and what they do next.
  private struct Program {
    var table = CategoryTable()
    var live: [CategoryClaim] = []
    var made = 0
    let busy = SlotUse()
    let free = SlotUse()

    init() { busy.setSuspended(true) }

    mutating func step(_ choice: Int, _ generator: inout SeededGenerator) {
      switch choice {
      case 0...2:
        made += 1
        let categories = CategoryTableTests.all.filter { _ in Bool.random(using: &generator) }
        if categories.isEmpty { return }
        let isBusy = Int.random(in: 0..<4, using: &generator) == 0
        let claim = CategoryClaim(
          number: made, categories: categories.shuffled(using: &generator),
          slots: isBusy ? busy : free)
        live.append(claim)
        _ = table.enter(claim)
      case 3...5: if let claim = random(.asking, &generator) { _ = table.take(claim) }
      case 6, 7: if let claim = random(.holding, &generator) { end(claim) }
      case 8: if let claim = live.randomElement(using: &generator) { end(claim) }
      case 9:
        guard let claim = live.filter({ $0.phase != .holding }).randomElement(using: &generator)
        else { return }
        _ = table.withdraw(claim)
        _ = table.enter(claim)
      case 10: _ = table.slotsAreGone(free)
      default: _ = table.lookAgain()
      }
    }

    private func random(
      _ phase: CategoryClaim.Phase, _ generator: inout SeededGenerator
    ) -> CategoryClaim? { live.filter { $0.phase == phase }.randomElement(using: &generator) }

    mutating func end(_ claim: CategoryClaim) {
      _ = table.leave(claim)
      live.removeAll { $0 === claim }
    }

    /// The rule that is broken, if one is.
    var fault: String? {
      for category in CategoryTableTests.all {
        let users = live.filter { $0.categories.contains(category) }
        if users.count(where: { $0.phase == .holding }) > 1 { return "two hold a category" }
      }
      for claim in live where claim.phase == .waiting {
        // Something is to come that looks at the claim again.
        guard let place = claim.group?.place else { return "a claim is parked nowhere" }
        let others = live.filter { $0 !== claim && $0.categories.contains(place) }
        if !others.contains(where: { $0.phase == .holding || $0.phase == .asking }) {
          return "a claim is parked at a free category"
        }
        let holders = live.filter { other in
          other.phase == .holding && other.categories.contains { claim.categories.contains($0) }
        }
        if Set(table.holders(for: claim).map(\.number)) != Set(holders.map(\.number)) {
          return "the holders are not known"
        }
        for holder in holders
        where !table.waiting(behind: holder).contains(where: { $0 === claim }) {
          return "a holder does not know what waits behind it"
        }
      }
      return nil
    }
  }

  @Test("Random programs: never two in a category, and none waits for nothing", arguments: 0..<300)
  func random(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var program = Program()
    for _ in 0..<150 {
      program.step(Int.random(in: 0..<12, using: &generator), &generator)
      if let fault = program.fault {
        Issue.record("\(fault), seed \(seed)")
        return
      }
    }
    // Everything ends when those that ask get their slots, and those that hold end.
    for _ in 0..<10_000 where !program.live.isEmpty {
      if let holder = program.live.first(where: { $0.phase == .holding }) {
        program.end(holder)
      } else if let asker = program.live.first(where: { $0.phase == .asking }) {
        _ = program.table.take(asker)
      }
    }
    #expect(program.live.isEmpty)
    #expect(program.table.isEmpty)
  }

  @Test("The slot of a task that ends counts as free: the next one of its queue has its turn")
  func endingSlot() {
    let a = Self.all[0]
    var table = CategoryTable()
    let (own, other) = (SlotUse(), SlotUse())
    own.setLimit(1)
    let first = claim(1, [a], in: own)
    #expect(table.enter(first).map(\.number) == [1])
    own.add()
    #expect(take(first, &table))
    let (second, third) = (claim(2, [a], in: own), claim(3, [a], in: other))
    #expect(table.enter(second).isEmpty)
    #expect(table.enter(third).isEmpty)
    #expect(table.leave(first, freeing: own).map(\.number) == [2])
    #expect(take(second, &table))
    #expect(table.leave(second, freeing: own).map(\.number) == [3])
  }
}

extension [TaskCategory] {
  /// The same categories in one of their orders.
  fileprivate func shuffled(at number: Int) -> [TaskCategory] {
    var generator = SeededGenerator(seed: UInt64(number))
    return shuffled(using: &generator)
  }
}
