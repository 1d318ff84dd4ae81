import Foundation
import TestSupport
import Testing

@testable import Futures

/// Every order of the events of three actors, each checked against a model of
/// a few lines.
@Suite("The state machine of a future", .timeLimit(.minutes(5)), .oneAtATime)
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
    var isWatched = false

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
    let watcher = Waiter.callback(TestWaiter())
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
      guard settlement.outcome == oracle.outcome, (settlement.work == nil) == oracle.hasRun,
        settlement.mayOthersCome == (oracle.isAttached || oracle.isWatched)
      else { return false }
      var waiters = settlement.waiters
      while !waiters.isEmpty {
        while waiters.popFirst() != nil { told += 1 }
        waiters = machine.takeLateWaiters()
      }
      oracle.isAttached = false
      oracle.isWatched = false
      return true
    }

    private func closureReturns() -> Bool {
      oracle.isRunning = false
      return isRight(machine.closureReturned())
    }

    private func attach(
      _ waiter: Waiter, isConsumer: Bool, _ isIn: WritableKeyPath<Oracle, Bool>
    ) -> Bool {
      guard !oracle[keyPath: isIn] else { return true }
      attachments += 1
      let isEnlisted = machine.attach(waiter, isConsumer: isConsumer)
      oracle[keyPath: isIn] = isEnlisted
      if !isEnlisted { told += 1 }
      // Late is told at once, but never before those who came earlier.
      let isTelling = !oracle.isDelivered
      return isEnlisted == (oracle.outcome == nil || isTelling)
    }

    /// `false` if the machine and the model disagree.
    func apply(_ event: Event) -> Bool {
      switch event {
      case .succeed: return settle(.success, from: .outside)
      case .fail: return settle(.failure, from: .upstream)
      case .cancel: return settle(.cancelled, from: .outside)
      case .deliver: return deliver()
      case .attach: return attach(waiter, isConsumer: true, \.isAttached)
      case .watch: return attach(watcher, isConsumer: false, \.isWatched)
      case .leave:
        let isLast = machine.leave(waiter, cancelling: true)
        let mayLeave = oracle.isAttached && oracle.outcome == nil
        if mayLeave {
          oracle.isAttached = false
          departures += 1
        }
        return isLast == mayLeave
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
        let isWaiting = machine.wait(for: .none) != nil
        if oracle.outcome == nil {
          oracle.isRunning = false
          return isWaiting
        }
        return !isWaiting && closureReturns()
      case .closureReturns:
        guard oracle.isRunning, oracle.outcome != nil else { return true }
        return closureReturns()
      case .enqueue:
        machine.enqueue(isCertain: true)
        if !oracle.isFinished { oracle.isQueued = true }
        return machine.place == (oracle.isStarted ? .started : oracle.isQueued ? .queued : .none)
      case .start:
        // A queue starts what it has and what is ready.
        guard oracle.isQueued, oracle.outcome != nil, !oracle.isStarted else { return true }
        oracle.isStarted = true
        return isRight(machine.start())
      case .finishUnstarted:
        // Only what is settled waits for its start.
        guard oracle.outcome != nil, !oracle.isRunning, !oracle.isStarted else {
          return machine.finishUnstarted() == .later
        }
        oracle.isStarted = oracle.isQueued
        return isRight(machine.finishUnstarted())
      }
    }

    /// What must hold after every event.
    var isSound: Bool {
      guard machine.brokenInvariant == nil else { return false }
      guard machine.isSettled == (oracle.outcome != nil) else { return false }
      if let outcome = oracle.outcome, machine.outcome != outcome { return false }
      guard machine.isClosureActive == oracle.isRunning else { return false }
      guard (machine.phase == .finished) == oracle.isFinished else { return false }
      guard machine.waiters.isEmpty == !(oracle.isAttached || oracle.isWatched) else {
        return false
      }
      // Nothing is kept when all have been told.
      if oracle.isDelivered {
        guard machine.work == nil, machine.waiters.isEmpty, !machine.isTelling else { return false }
      }
      return finishes <= 1
    }

    /// What must hold in the end: whoever came was told once or left.
    var isComplete: Bool {
      oracle.outcome == nil || told + departures == attachments
    }
  }

  private func check(
    _ actors: [[Event]], _ location: SourceLocation = #_sourceLocation
  ) -> Int {
    var broken: [Event]?
    let count = Interleavings.of(actors) { order in
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
}
