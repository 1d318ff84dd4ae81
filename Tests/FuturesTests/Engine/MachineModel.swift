import TestSupport

@testable import Futures

/// An event of the state machine of a future, as the storage passes it on.
///
/// The events of `attach` name who comes and on which thread; those of a
/// delivery are its single steps, so that others come between.
enum MachineEvent: CaseIterable {
  case succeed, failFromUpstream, cancel
  case deliver, takeLate, startHere
  case attachDemanding, attachWatching, attachFromHere
  case leaveDemanding, leaveWatching, demand
  case watch, takeHandler
  case run, closureSettles, closureWaits, closureFails, closureReturns, retarget
  case join, enqueue, start, finishUnstarted
}

/// What the machine promises, written down without its mechanics, and the
/// machine itself, driven together.
///
/// The model keeps names in plain arrays where the machine keeps links, and
/// states each answer as one condition.
final class MachineModel {
  private final class Named: CallbackWaiter, @unchecked Sendable {}

  private enum Telling: Equatable { case no, soon, elsewhere, here }

  private var machine: FutureStateMachine
  private let demanding = Named()
  private let watching = Named()
  private let fromHere = Named()
  private let here = ObjectIdentifier(Named.self)
  private let elsewhere = ObjectIdentifier(MachineModel.self)

  // The model.
  private var outcome: Outcome?
  private var telling = Telling.no
  private var mustDeliver = false
  private var hasWork = true
  private var isRunning = false
  private var isWaitingForOther = false
  private var isMember = false
  private var hasHome = false
  private var isQueued = false
  private var isStarted = false
  private var isFinished = false
  private var line: [(name: ObjectIdentifier, wants: Bool)] = []
  private var handlers = 0

  // What has become of those who came.
  private var came: [ObjectIdentifier: Int] = [:]
  private var left: [ObjectIdentifier: Int] = [:]
  private var told: [ObjectIdentifier: Int] = [:]
  private var finishes = 0

  init() { machine = FutureStateMachine(upstream: .none, work: Work { _, _ in }) }

  deinit {
    var rest = machine.takeLateWaiters()
    while rest.popFirst() != nil {}
  }

  /// The rules of the game that an order of events has broken.
  private(set) var disagreement: String?

  private func expect(_ isRight: Bool, _ what: @autoclosure () -> String) {
    if !isRight, disagreement == nil { disagreement = what() }
  }

  // MARK: The operation

  /// Whether an event that may finish the operation does.
  private func mayFinish() -> Finish {
    guard outcome != nil, !isRunning, !isFinished else { return .later }
    if isQueued, !isStarted { return .whenStarted }
    isFinished = true
    return .now
  }

  private func expectFinish(_ finish: Finish, _ event: MachineEvent) {
    if finish == .now { finishes += 1 }
    let expected = mayFinish()
    expect(finish == expected, "\(event) means \(finish) and should mean \(expected)")
  }

  /// What the settlement that is to be delivered says of the operation.
  private var finishOfSettlement = Finish.later
  private var leavesUpstream = false

  private func settle(_ new: Outcome, from origin: SettlementOrigin) {
    let isFirst = outcome == nil
    expect(machine.settle(new, from: origin) == isFirst, "who was first is unclear")
    guard isFirst else {
      if origin == .closure { closureReturns(.closureReturns) }
      return
    }
    outcome = new
    telling = .soon
    mustDeliver = true
    leavesUpstream = origin == .outside
    if origin == .closure { isRunning = false }
    finishOfSettlement = mayFinish()
    if finishOfSettlement == .now { finishes += 1 }
  }

  private func closureReturns(_ event: MachineEvent) {
    let finish = machine.closureReturned()
    guard isRunning else { return expect(finish == .later, "a closure returned that did not run") }
    isRunning = false
    expectFinish(finish, event)
  }

  // MARK: Those who wait

  private func attach(_ waiter: Named, wants: Bool, on thread: ObjectIdentifier) {
    let name = ObjectIdentifier(waiter)
    // (A waiter waits in one place at a time.)
    guard !line.contains(where: { $0.name == name }) else { return }
    came[name, default: 0] += 1
    let isIn = machine.attach(.callback(waiter), isDemanding: wants, by: thread)
    let isTooLate = outcome != nil && (telling == .no || telling == .here && thread == here)
    expect(isIn == !isTooLate, "\(isIn ? "in line" : "told at once") while telling is \(telling)")
    if isIn { line.append((name, wants)) } else { told[name, default: 0] += 1 }
  }

  private func leave(_ waiter: Named) {
    let name = ObjectIdentifier(waiter)
    let isLast = machine.leave(.callback(waiter))
    guard outcome == nil, let place = line.firstIndex(where: { $0.name == name }) else {
      return expect(!isLast, "one who could not leave was the last")
    }
    line.remove(at: place)
    left[name, default: 0] += 1
    expect(isLast == !line.contains { $0.wants }, "the last to want the value: \(isLast)")
  }

  private func expectAll(_ waiters: WaiterList) {
    var waiters = waiters
    var names: [ObjectIdentifier] = []
    while case .callback(let callback)? = waiters.popFirst() {
      names.append(ObjectIdentifier(callback))
      told[ObjectIdentifier(callback), default: 0] += 1
    }
    expect(names == line.map(\.name), "told in the wrong order, or the wrong ones")
    line = []
  }

  private func deliver() {
    guard mustDeliver, let outcome else { return }
    mustDeliver = false
    let settlement = machine.deliver()
    expect(settlement.outcome == outcome, "another outcome is delivered")
    expect(settlement.finish == finishOfSettlement, "the finish of the settlement is lost")
    expect(settlement.leavesUpstream == leavesUpstream, "upstream is left, or not, by mistake")
    expect((settlement.work != nil) == hasWork, "a closure is handed out twice, or kept")
    expect(settlement.handlers.count == handlers, "handlers are lost")
    if case .none = settlement.upstream {
      expect(!isWaitingForOther, "what was waited for is lost")
    } else {
      expect(isWaitingForOther, "waits for something it had let go of")
    }
    hasWork = false
    isWaitingForOther = false
    hasHome = false
    handlers = 0
    let wasEmpty = line.isEmpty
    expectAll(settlement.waiters)
    if wasEmpty { telling = .no }
  }

  private func takeLate() {
    guard outcome != nil, !mustDeliver, telling != .no else { return }
    let wasEmpty = line.isEmpty
    expectAll(machine.takeLateWaiters())
    if wasEmpty { telling = .no }
  }

  // MARK: Events

  private static let inner = CallbackWaiter()

  /// Lets something happen to both; what makes no sense now does not happen.
  func apply(_ event: MachineEvent) {
    switch event {
    case .succeed: settle(.success, from: .outside)
    case .failFromUpstream: settle(.failure, from: .upstream)
    case .cancel: settle(.cancelled, from: .outside)
    case .deliver: deliver()
    case .takeLate: takeLate()
    case .startHere:
      machine.deliver(by: here)
      if telling == .soon { telling = .here }
    case .attachDemanding: attach(demanding, wants: true, on: elsewhere)
    case .attachWatching: attach(watching, wants: false, on: elsewhere)
    case .attachFromHere: attach(fromHere, wants: true, on: here)
    case .leaveDemanding: leave(demanding)
    case .leaveWatching: leave(watching)
    case .demand:
      machine.demand(.callback(watching))
      let name = ObjectIdentifier(watching)
      if outcome == nil, let place = line.firstIndex(where: { $0.name == name }) {
        line[place].wants = true
      }
    case .watch:
      let isIn = machine.watch(
        SettlementHandler(onlyOnCancellation: false, isUserCode: false) { _ in })
      expect(isIn == (outcome == nil), "a handler is taken too late, or refused too early")
      if isIn { handlers += 1 }
    case .takeHandler:
      guard outcome != nil else { return }
      expect((machine.takeHandler() != nil) == hasWork, "an observer's handler is lost, or twice")
      hasWork = false
    case .run:
      let mayRun = outcome == nil && hasWork && !isRunning
      expect((machine.run() != nil) == mayRun, "the closure may run: \(mayRun)")
      if mayRun {
        hasWork = false
        isRunning = true
        isWaitingForOther = false
      }
    case .closureSettles: if isRunning { settle(.success, from: .closure) }
    case .closureFails: if isRunning { settle(.failure, from: .closure) }
    case .closureWaits:
      guard isRunning else { return }
      let waits = machine.wait(for: .source(Self.inner))
      expect(waits == (outcome == nil), "waits for a future after it has settled, or does not")
      if waits {
        isRunning = false
        isWaitingForOther = true
      } else {
        closureReturns(event)
      }
    case .closureReturns: if outcome != nil { closureReturns(event) }
    case .retarget:
      // (Only what waits is pointed elsewhere.)
      guard !isRunning else { return }
      let isPointed = machine.retarget(.source(Self.inner))
      expect(isPointed == (outcome == nil), "pointed elsewhere: \(isPointed)")
      if isPointed { isWaitingForOther = true }
    case .join:
      let mayJoin = !isQueued && !isMember
      expect(machine.join(.main) == mayJoin, "may join a queue: \(mayJoin)")
      if mayJoin {
        isMember = true
        hasHome = !isFinished
      }
    case .enqueue:
      let mayEnter = !isQueued && !isFinished
      expect(machine.enqueue() == mayEnter, "may be put in a queue: \(mayEnter)")
      if mayEnter { isQueued = true }
    case .start:
      // (Queues start what they have, once.)
      guard isQueued, !isStarted else { return }
      isStarted = true
      expectFinish(machine.start(), event)
    case .finishUnstarted:
      let finish = machine.finishUnstarted()
      guard outcome != nil else { return expect(finish == .later, "finished while pending") }
      isStarted = true
      expectFinish(finish, event)
    }
    compare(after: event)
  }

  private func compare(after event: MachineEvent) {
    if let broken = machine.brokenInvariant { expect(false, "after \(event): \(broken)") }
    expect((machine.phase == .settled) == (outcome != nil), "the phase after \(event)")
    if let outcome { expect(machine.outcome == outcome, "the outcome after \(event)") }
    expect(machine.isClosureActive == isRunning, "whether the closure runs after \(event)")
    expect(machine.isFinished == isFinished, "whether it has finished after \(event)")
    expect(machine.isQueued == isQueued, "whether it is in a queue after \(event)")
    expect(machine.isMember == isMember, "whether it belongs to a queue after \(event)")
    expect((machine.home != nil) == hasHome, "whether it keeps its queue after \(event)")
    expect((machine.work != nil) == hasWork, "whether the closure is kept after \(event)")
    expect(machine.handlers.count == handlers, "the handlers after \(event)")
    expect(machine.isDelivering == (telling != .no), "whether it is telling after \(event)")
    expect(machine.waiters.isEmpty == line.isEmpty, "whether anybody waits after \(event)")
    if outcome == nil {
      expect(
        Int(machine.demand) == line.count { $0.wants }, "how many want the value after \(event)")
      expect(
        machine.needsContext == (hasWork || isRunning), "whether it needs its context, \(event)")
    }
  }

  /// Takes a waiter out of the machine without telling the model.
  func betray() {
    var waiters = machine.takeLateWaiters()
    while waiters.popFirst() != nil {}
  }

  /// Lets the settling thread end what it has begun, and asks what must hold
  /// then.
  func end() {
    guard outcome != nil else { return }
    apply(.deliver)
    apply(.takeLate)
    apply(.takeLate)
    if isRunning { apply(.closureReturns) }
    if isQueued { apply(.start) }
    expect(telling == .no, "telling never ends")
    expect(machine.isFinished, "never finishes")
    expect(finishes == 1, "finished \(finishes) times")
    for (name, times) in came {
      expect(
        told[name, default: 0] + left[name, default: 0] == times,
        "somebody came \(times) times, was told \(told[name, default: 0]) times and left "
          + "\(left[name, default: 0]) times")
    }
  }
}
