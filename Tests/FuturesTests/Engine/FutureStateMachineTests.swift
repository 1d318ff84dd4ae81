import Foundation
import TestSupport
import Testing

@testable import Futures

/// Every order of the events of three actors, each checked against a model of
/// a few lines.
@Suite("The state machine of a future", .timeLimit(.minutes(1)), .oneAtATime)
struct FutureStateMachineTests {
  private enum Event {
    case succeed, fail, cancel, deliver
    case attach, leave, watch
    case run, closureSettles, closureWaits, closureReturns
    case enqueue, start, finishUnstarted
  }

  /// What the machine promises, without its mechanics.
  private struct Oracle {
    var outcome: Outcome?
    var isDelivered = false
    var isRunning = false
    var hasRun = false
    var isQueued = false
    var isStarted = false
    var isFinished = false
    var isAttached = false
    var handlers = 0

    /// The event may have finished the operation; says so the first time.
    mutating func finish() -> Bool {
      guard outcome != nil, !isRunning, !isFinished, !isQueued || isStarted else { return false }
      isFinished = true
      return true
    }
  }

  private final class TestWaiter: CallbackWaiter, @unchecked Sendable {}

  /// The machine and the model, driven together.
  private final class Pair {
    var machine = FutureStateMachine(upstream: .none, work: Work { _, _ in })
    var oracle = Oracle()
    let waiter = Waiter.callback(TestWaiter())
    var finishes = 0
    var told = 0
    var attachments = 0
    var departures = 0

    deinit {
      // What is still in the list must go in order.
      var left = machine.takeLateWaiters()
      while left.popFirst() != nil {}
    }

    private func isRight(_ finish: Finish) -> Bool {
      let expected = oracle.finish()
      if finish == .now { finishes += 1 }
      return (finish == .now) == expected
        && (finish != .whenStarted || (oracle.isQueued && !oracle.isStarted))
    }

    private func settle(_ outcome: Outcome, from origin: SettlementOrigin) -> Bool {
      let isFirst = oracle.outcome == nil
      guard machine.settle(outcome, from: origin) == isFirst else { return false }
      guard isFirst else { return true }
      oracle.outcome = outcome
      if origin == .closure { oracle.isRunning = false }
      if oracle.finish() { finishes += 1 }
      return true
    }

    /// The settling thread comes to tell everyone.
    func deliver() -> Bool {
      guard oracle.outcome != nil, !oracle.isDelivered else { return true }
      oracle.isDelivered = true
      let settlement = machine.deliver()
      guard settlement.outcome == oracle.outcome, settlement.handlers.count == oracle.handlers,
        (settlement.work == nil) == oracle.hasRun
      else { return false }
      oracle.handlers = 0
      var waiters = settlement.waiters
      while !waiters.isEmpty {
        while waiters.popFirst() != nil {
          told += 1
          oracle.isAttached = false
        }
        waiters = machine.takeLateWaiters()
      }
      return true
    }

    private func closureReturns() -> Bool {
      oracle.isRunning = false
      return isRight(machine.closureReturned())
    }

    /// `false` if the machine and the model disagree.
    func apply(_ event: Event) -> Bool {
      switch event {
      case .succeed: return settle(.success, from: .outside)
      case .fail: return settle(.failure, from: .upstream)
      case .cancel: return settle(.cancelled, from: .outside)
      case .deliver: return deliver()
      case .attach:
        guard !oracle.isAttached else { return true }
        let isIn = machine.attach(waiter, isDemanding: true, by: ObjectIdentifier(self))
        attachments += 1
        if isIn { oracle.isAttached = true } else { told += 1 }
        // Late is told at once, but never before those who came earlier.
        return isIn == (oracle.outcome == nil || !oracle.isDelivered)
      case .leave:
        let isLast = machine.leave(waiter)
        let mayLeave = oracle.isAttached && oracle.outcome == nil
        if mayLeave {
          oracle.isAttached = false
          departures += 1
        }
        return isLast == mayLeave
      case .watch:
        let isIn = machine.watch(
          SettlementHandler(onlyOnCancellation: false, isUserCode: false) { _ in })
        if oracle.outcome == nil { oracle.handlers += 1 }
        return isIn == (oracle.outcome == nil)
      case .run:
        let mayRun = oracle.outcome == nil && !oracle.hasRun
        if mayRun {
          oracle.hasRun = true
          oracle.isRunning = true
        }
        return (machine.run() != nil) == mayRun
      case .closureSettles:
        guard oracle.isRunning else { return true }
        if oracle.outcome == nil { return settle(.success, from: .closure) }
        return !machine.settle(.success, from: .closure) && closureReturns()
      case .closureWaits:
        guard oracle.isRunning else { return true }
        let isWaiting = machine.wait(for: .none)
        if oracle.outcome == nil {
          oracle.isRunning = false
          return isWaiting
        }
        return !isWaiting && closureReturns()
      case .closureReturns:
        guard oracle.isRunning, oracle.outcome != nil else { return true }
        return closureReturns()
      case .enqueue:
        let mayEnter = !oracle.isQueued && !oracle.isFinished
        if mayEnter { oracle.isQueued = true }
        return machine.enqueue() == mayEnter
      case .start:
        // A queue starts what it has and what is ready.
        guard oracle.isQueued, oracle.outcome != nil, !oracle.isStarted else { return true }
        oracle.isStarted = true
        return isRight(machine.start())
      case .finishUnstarted:
        guard oracle.outcome != nil, !oracle.isStarted else { return true }
        oracle.isStarted = true
        return isRight(machine.finishUnstarted())
      }
    }

    /// What must hold after every event.
    var isSound: Bool {
      let isSettled = oracle.outcome != nil
      guard (machine.phase == .settled) == isSettled else { return false }
      if let outcome = oracle.outcome, machine.outcome != outcome { return false }
      guard machine.isClosureActive == oracle.isRunning else { return false }
      guard machine.isFinished == oracle.isFinished else { return false }
      if machine.isFinished, machine.phase != .settled || machine.isClosureActive { return false }
      guard machine.waiters.isEmpty == !oracle.isAttached else { return false }
      // Nothing is kept when all have been told.
      if oracle.isDelivered {
        guard machine.work == nil, machine.handlers.isEmpty, machine.waiters.isEmpty else {
          return false
        }
      }
      return finishes <= 1
    }

    /// What must hold in the end: whoever came was told once or left.
    var isComplete: Bool {
      oracle.outcome == nil || told + departures == attachments
    }
  }

  /// Calls `body` with every interleaving of the actors' events.
  private func interleavings(_ actors: [[Event]], _ body: ([Event]) -> Void) -> Int {
    var count = 0
    var order: [Event] = []
    func step(_ places: [Int]) {
      var isDone = true
      for actor in actors.indices where places[actor] < actors[actor].count {
        isDone = false
        var next = places
        next[actor] += 1
        order.append(actors[actor][places[actor]])
        step(next)
        order.removeLast()
      }
      if isDone {
        count += 1
        body(order)
      }
    }
    step(actors.map { _ in 0 })
    return count
  }

  private func check(
    _ actors: [[Event]], _ location: SourceLocation = #_sourceLocation
  ) -> Int {
    var broken: [Event]?
    let count = interleavings(actors) { order in
      guard broken == nil else { return }
      let pair = Pair()
      for event in order where broken == nil {
        if !pair.apply(event) || !pair.isSound { broken = order }
      }
      if !pair.deliver() || !pair.isSound || !pair.isComplete { broken = order }
    }
    #expect(broken == nil, sourceLocation: location)
    return count
  }

  @Test func `3 actors with 3 events each: settlers, waiters and the closure`() {
    #expect(
      check([
        [.succeed, .deliver, .cancel],
        [.attach, .leave, .attach],
        [.run, .closureSettles, .closureReturns],
      ]) == 1_680)
  }

  @Test func `3 actors with 3 events each: settlers, a queue and the closure`() {
    #expect(
      check([
        [.cancel, .deliver, .watch],
        [.enqueue, .start, .start],
        [.run, .closureWaits, .fail],
      ]) == 1_680)
  }

  @Test func `3 actors with 3 events each: a settler, a queue that never starts, the closure`() {
    #expect(
      check([
        [.watch, .fail, .deliver],
        [.enqueue, .finishUnstarted, .start],
        [.run, .closureSettles, .cancel],
      ]) == 1_680)
  }

  @Test func `3 actors with 4 events each: everything at once`() {
    #expect(
      check([
        [.watch, .cancel, .deliver, .closureReturns],
        [.attach, .enqueue, .leave, .start],
        [.run, .closureWaits, .fail, .attach],
      ]) == 34_650)
  }

  @Test func `only the last of those who want the value empties the demand`() {
    var machine = FutureStateMachine(upstream: .none, work: nil)
    let thread = ObjectIdentifier(TestWaiter.self)
    let waiters = (0..<3).map { _ in Waiter.callback(TestWaiter()) }
    let watching = Waiter.callback(TestWaiter())
    for waiter in waiters { _ = machine.attach(waiter, isDemanding: true, by: thread) }
    _ = machine.attach(watching, isDemanding: false, by: thread)
    let answers = [waiters[1], waiters[1], waiters[0], waiters[2]].map { machine.leave($0) }
    #expect(answers == [false, false, false, true])
    _ = machine.leave(watching)
    let isEmpty = machine.waiters.isEmpty
    #expect(isEmpty)
  }

  @Test func `who comes while several are told is told after them, unless all are one inline`() {
    func lateComerWaits(behind futures: [Future<Int>]) -> Bool {
      var machine = FutureStateMachine(upstream: .none, work: nil)
      let thread = ObjectIdentifier(TestWaiter.self)
      for future in futures { _ = machine.attach(.future(future), isDemanding: true, by: thread) }
      _ = machine.settle(.success, from: .outside)
      var waiters = machine.deliver().waiters
      let late = Waiter.callback(TestWaiter())
      let isEnlisted = machine.attach(late, isDemanding: true, by: thread)
      while waiters.popFirst() != nil {}
      var others = machine.takeLateWaiters()
      while others.popFirst() != nil {}
      return isEnlisted
    }
    func link(_ context: some ExecutionContext) -> Future<Int> {
      Future(
        traits: .actsOnSuccess, context: ContextReference(context), upstream: .none,
        at: Birthplace(#fileID, #line), work: nil)
    }
    let queue = DispatchQueue(label: "several")
    #expect(!lateComerWaits(behind: [link(.inline)]))
    #expect(lateComerWaits(behind: [link(queue)]))
    #expect(lateComerWaits(behind: [link(queue), link(.inline)]))
    #expect(lateComerWaits(behind: [link(.inline), link(queue)]))
  }

  @Test func `waiters are handed out in order, whoever left from the middle`() {
    var machine = FutureStateMachine(upstream: .none, work: nil)
    let thread = ObjectIdentifier(TestWaiter.self)
    let objects = (0..<5).map { _ in TestWaiter() }
    for object in objects { _ = machine.attach(.callback(object), isDemanding: true, by: thread) }
    for index in [0, 2, 4] { _ = machine.leave(.callback(objects[index])) }
    _ = machine.attach(.callback(objects[2]), isDemanding: true, by: thread)
    _ = machine.settle(.success, from: .outside)
    // Between settling and telling: still in line.
    _ = machine.attach(.callback(objects[0]), isDemanding: true, by: thread)
    var waiters = machine.deliver().waiters
    var order: [ObjectIdentifier] = []
    while let waiter = waiters.popFirst() {
      if case .callback(let callback) = waiter { order.append(ObjectIdentifier(callback)) }
    }
    #expect(order == [1, 3, 2, 0].map { ObjectIdentifier(objects[$0]) })
  }
}
