import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

/// Tasks of all kinds that wait for one another, under schedules that a seed
/// decides.
///
/// There are producers, consumers, gated tasks and groups, with dependencies,
/// conditions and categories; the seed says when each is put in the queue, ended,
/// answered or cancelled, and when the queue comes to its work.
// (The 200,000 seeds of the nightly run take more than a minute.)
@Suite("Seeded schedules of tasks", .timeLimit(.minutes(10)), .oneAtATime)
struct SeededTaskTests {
  /// Several tasks in one queue, and all that is known of them.
  private final class Program: @unchecked Sendable {
    // Sendable: the test's thread waits while the queue's is at work.
    private let stepped = SteppedQueue()
    private var nodes: [SeededNode] = []
    private let faults = Log<String>()

    // MARK: Building

    func addNode(_ generator: inout SeededGenerator, holding object: Tracked) {
      let number = nodes.count
      let work = makeWork(&generator)
      var rules: [SeededNode.Rule] = []
      if Bool.random(using: &generator) { rules.append(makeRule(&generator)) }
      if Int.random(in: 0..<4, using: &generator) == 0 { rules.append(.noCancelledDependencies) }
      let dependencies = nodes.indices.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }
      let node = SeededNode(work, rules: rules, dependencies: dependencies, nodes: nodes)
      node.stage.observe(
        BlockObserver(didStart: { [unowned self] _ in
          object.touch()
          check(startOf: number)
        }))
      nodes.append(node)
    }

    private func makeWork(_ generator: inout SeededGenerator) -> SeededNode.Work {
      switch Int.random(in: 0..<9, using: &generator) {
      case 0, 1: return .source(Source())
      case 2: return .quick(.success)
      case 3: return .quick(.provided)
      case 4: return .gated(ManualOperation())
      case 5, 6:
        let members = (0..<Int.random(in: 1...2, using: &generator)).map { _ in Source() }
        let group = GroupProducerTask<Int, TestError>(
          underlyingQueue: stepped.thread, tasks: members, produced: members[members.count - 1])
        stepped.inner.append(group.innerQueue)
        return .group(group, members: members)
      default:
        let producers = nodes.indices.filter { nodes[$0].producer != nil }
        return producers.randomElement(using: &generator).map { .consumer(producing: $0) }
          ?? .source(Source())
      }
    }

    private func makeRule(_ generator: inout SeededGenerator) -> SeededNode.Rule {
      switch Int.random(in: 0..<9, using: &generator) {
      case 0...3: .category(0)
      case 4, 5: .category(1)
      case 6: .answer(ManualCondition())
      case 7: Bool.random(using: &generator) ? .unmet : .needs(Counter())
      default: .needs(Counter())
      }
    }

    /// What must be true when work begins.
    private func check(startOf number: Int) {
      let node = nodes[number]
      if node.starts.add() > 1 { faults.append("\(number) starts twice") }
      if !node.isAdded { faults.append("\(number) starts in no queue") }
      let early = node.dependencies.filter { !nodes[$0].isSettled }
      if !early.isEmpty { faults.append("\(number) starts before \(early)") }
      if node.condition != nil, !node.isAnswered || node.hasRefusal {
        faults.append("\(number) starts without its condition")
      }
      guard let category = node.category else { return }
      for (other, rival) in nodes.enumerated() where other != number {
        if rival.category == category, rival.hasStarted, !rival.isSettled {
          faults.append("\(number) starts beside \(other) of its category")
        }
      }
    }

    // MARK: Steps

    func act(_ generator: inout SeededGenerator) -> String? {
      guard let number = nodes.indices.randomElement(using: &generator) else { return "no tasks" }
      let node = nodes[number]
      switch Int.random(in: 0..<16, using: &generator) {
      case 0...3: add(node)
      case 4, 5: cancel(node)
      case 6, 7: node.end(SourceEnd.allCases.randomElement(using: &generator) ?? .success)
      case 8: endMember(of: node, &generator)
      case 9: answer(node, isMet: Int.random(in: 0..<3, using: &generator) > 0)
      case 10: stepped.queue.isSuspended.toggle()
      case 11: addDependency(to: number, &generator)
      case 12: if Int.random(in: 0..<4, using: &generator) == 0 { cancelAll() }
      default:
        if let fault = runUntilNothingStagnates() { return fault }
      }
      return contradiction
    }

    private func add(_ node: SeededNode) {
      guard !node.isAdded else { return }
      // (What was ended or cancelled by hand before has its result.)
      node.isAdded = true
      node.stage.add(stepped.queue)
    }

    private func cancel(_ node: SeededNode) {
      noteCancellation(of: node)
      node.stage.future.cancel()
    }

    private func noteCancellation(of node: SeededNode) {
      if node.isSettled || node.stage.future.isCancelled { return }
      if !node.hasStarted {
        node.wasCancelledEarly = true
      } else if case .group(_, let members) = node.work, members.last?.isFulfilled == false {
        node.wasCancelledInside = true
      }
    }

    private func consumers(of number: Int) -> [SeededNode] {
      nodes.filter { node in
        if case .consumer(number) = node.work { node.isAdded } else { false }
      }
    }

    private func cancelAll() {
      for node in nodes where node.isAdded { noteCancellation(of: node) }
      stepped.queue.cancelAllTasks()
    }

    private func endMember(of node: SeededNode, _ generator: inout SeededGenerator) {
      guard case .group(_, let members) = node.work else { return }
      let member = members.randomElement(using: &generator)
      let end = SourceEnd.allCases.randomElement(using: &generator) ?? .success
      if member?.executions.value == 1 { member?.end(end) }
    }

    private func answer(_ node: SeededNode, isMet: Bool) {
      guard let condition = node.condition, condition.asked.isOpen, !node.isAnswered else { return }
      node.isAnswered = true
      if !isMet { node.hasRefusal = true }
      condition.answer(isMet ? .success : .failure(.first))
      condition.forget()
    }

    private func addDependency(to number: Int, _ generator: inout SeededGenerator) {
      let node = nodes[number]
      // (Only earlier ones: what closes a circle is tested elsewhere.)
      guard number > 0, !node.hasStarted, !node.isSettled else { return }
      let other = Int.random(in: 0..<number, using: &generator)
      guard !node.dependencies.contains(other) else { return }
      node.dependencies.append(other)
      node.hasLateDependency = true
      node.stage.future.addDependency(nodes[other].stage.future)
    }

    // MARK: Checking

    /// What may never be seen, at any moment.
    private var contradiction: String? {
      if let fault = faults.entries.first { return fault }
      for (number, node) in nodes.enumerated() {
        let future = node.stage.future
        if future.isFinished, !future.isFulfilled { return "\(number) finished without a result" }
        if future.isFinished, future.isExecuting { return "\(number) finished and executing" }
        if node.received.count > 0, !node.isSettled { return "\(number) was received too early" }
        if node.finishes.value > 1 || node.cancels.value > 1 { return "\(number) was told twice" }
        if node.isSettled, let fault = faultOfEnd(number) { return fault }
        if node.wasCancelledEarly, !node.isSettled { return "\(number) was cancelled in vain" }
      }
      return nil
    }

    private func faultOfEnd(_ number: Int) -> String? {
      let node = nodes[number]
      let kind = node.stage.kind()
      switch kind {
      case .cycle:
        // A task that comes to wait for one that stands behind it in the line of
        // its category.
        return nodes.contains { $0.hasLateDependency } ? nil : "\(number) waits in a circle"
      case .conditions where !node.hasStarted:
        if node.hasRefusal { return nil }
        for rule in node.rules {
          if case .unmet = rule { return nil }
          if case .noCancelledDependencies = rule,
            node.dependencies.contains(where: { nodes[$0].stage.future.isCancelled })
          {
            return nil
          }
        }
        return "\(number) is refused, and nobody has refused it"
      case .cancelled where consumers(of: number).contains { $0.endedInCircle }:
        return nil
      default:
        let expected = node.expected(nodes)
        return kind == expected ? nil : "\(number) is \(kind as Any), not \(expected as Any)"
      }
    }

    /// Runs what can run, again if conditions were just being asked.
    private func runUntilNothingStagnates() -> String? {
      stepped.run()
      if stagnation == nil { return nil }
      let moves = eventuallyBlocking {
        stepped.run()
        return stagnation == nil
      }
      return moves ? nil : stagnation
    }

    /// What waits although it has nothing to wait for.
    private var stagnation: String? {
      if stepped.queue.isSuspended { return nil }
      for (number, node) in nodes.enumerated() where node.isAdded && !node.isSettled {
        if node.hasStarted {
          if !node.isOpen { return "\(number) executes, and does not end" }
          continue
        }
        if node.dependencies.contains(where: { !nodes[$0].isSettled }) { continue }
        if node.condition != nil, !node.isAnswered { continue }
        let rivals = nodes.filter { other in
          other !== node && other.category != nil && other.category == node.category
            && other.isAdded && !other.isSettled
        }
        if rivals.isEmpty { return "\(number) waits for nothing: \(node.stage.future)" }
      }
      return nil
    }

    // MARK: The end

    func finish() -> String? {
      stepped.queue.isSuspended = false
      for node in nodes { add(node) }
      // (As often as it takes: conditions are asked on threads of their own.)
      var fault: String?
      _ = eventuallyBlocking {
        fault = runUntilNothingStagnates() ?? contradiction
        if fault != nil || nodes.allSatisfy({ $0.isSettled }) { return true }
        for node in nodes {
          answer(node, isMet: true)
          if node.hasStarted, !node.isSettled { node.end(.success) }
        }
        return false
      }
      if let fault { return fault }
      // (The last ones may just be told of, where their conditions were asked.)
      _ = eventuallyBlocking { faultAtEnd == nil }
      return faultAtEnd
    }

    private var faultAtEnd: String? {
      stepped.run()
      for (number, node) in nodes.enumerated() {
        if !node.isSettled { return "\(number) never ends: \(nodes.map(\.stage.future))" }
        if !node.stage.future.isFinished { return "\(number) has not finished" }
        if node.finishes.value != 1 { return "the end of \(number) was not observed" }
        if node.received.count != 1 { return "\(number) was received \(node.received.count) times" }
        let isCancelled = node.stage.future.isCancelled
        if node.cancels.value != (isCancelled ? 1 : 0) {
          return "\(node.cancels.value) cancellations of \(number) were observed"
        }
      }
      return contradiction ?? (stepped.isEmpty ? nil : "the queue is not empty")
    }
  }

  @Test(
    "24. 26. 30. 34. 52. 54. 105. Tasks of all kinds, in whatever order things happen, keep to the rules"
  )
  func seeded() async {
    await SeededSchedules.play("SeededTaskTests") { generator in
      let tracker = LifetimeTracker()
      do {
        let program = Program()
        for _ in 0..<Int.random(in: 2...6, using: &generator) {
          program.addNode(&generator, holding: tracker.make())
        }
        for _ in 0..<Int.random(in: 1...30, using: &generator) {
          if let fault = program.act(&generator) { return fault }
        }
        if let fault = program.finish() { return fault }
      }
      if tracker.alive == 0 { return nil }
      return await eventually { tracker.alive == 0 }
        ? nil : "something that an observer holds is kept"
    }
  }
}
