import TestSupport

@testable import Futures

/// An event of the state machine of a future, as the storage passes it on.
///
/// The events of `attach` name who comes; those of a delivery are its single
/// steps, so that others come between.
enum MachineEvent: CaseIterable {
  case succeed, failFromUpstream, cancel
  case deliver, takeLate
  case attachConsumer, attachWatcher, attachFinishWaiter
  case leaveConsumer, leaveConsumerCancelled, leaveWatcher, leaveFinishWaiter, becomeConsumer
  case run, closureSettles, wait, closureBlocks, closureReturns, takeWork
  case join, enqueue, lookAt, start, finishUnstarted

  /// Those of the closure and of the operation, without anybody who waits.
  static let life: [MachineEvent] = [
    .succeed, .failFromUpstream, .cancel, .deliver, .takeLate, .run, .closureSettles, .wait,
    .closureBlocks, .closureReturns, .takeWork, .join, .enqueue, .lookAt, .start, .finishUnstarted,
  ]

  /// Those of who waits, with as much of the rest as makes a difference.
  static let waiting: [MachineEvent] = [
    .succeed, .deliver, .takeLate, .attachConsumer, .attachWatcher, .attachFinishWaiter,
    .leaveConsumer, .leaveConsumerCancelled, .leaveWatcher, .leaveFinishWaiter, .becomeConsumer,
    .enqueue, .start,
  ]
}

/// What the machine promises, written down without its mechanics, and the
/// machine itself, driven together.
///
/// The model keeps names in plain arrays where the machine keeps links, and
/// flags where the machine has phases and places; it states each answer as one
/// condition.
final class MachineModel {
  private final class Named: CallbackWaiter, @unchecked Sendable {
    // Sendable: nothing changes.
    private let isFinishWaiter: Bool
    init(waitsForFinish: Bool = false) { isFinishWaiter = waitsForFinish }
    override var waitsForFinish: Bool { isFinishWaiter }
  }

  private typealias Name = ObjectIdentifier

  private var machine: FutureStateMachine
  private let consumer = Named()
  private let watcher = Named()
  private let finishWaiter = Named(waitsForFinish: true)

  // The model.
  private var outcome: Outcome?
  private var isTelling = false
  private var mustDeliver = false
  private var hasWork = true
  private var isRunning = false
  private var isWaitingForOther = false
  private var isMember = false
  private var isInQueue = false
  private var isPerhapsInQueue = false
  private var isStarted = false
  private var isInQueueAgain = false
  private var isFinished = false
  private var line: [(name: Name, wants: Bool)] = []
  private var finishLine: [Name] = []
  private var hasBeenLeftByCancelling = false

  // What has become of those who came.
  private var came: [Name: Int] = [:]
  private var left: [Name: Int] = [:]
  private var told: [Name: Int] = [:]
  private var finishes = 0

  /// - Parameter hasExtras: Whether the future has had dependencies or the like
  ///   before.
  init(hasExtras: Bool = false) {
    machine = FutureStateMachine(upstream: .none, work: Work { _, _ in })
    if hasExtras { _ = machine.needExtras() }
  }

  deinit {
    // What is still in the lists must go in order.
    var rest = machine.takeLateWaiters()
    while rest.popFirst() != nil {}
    if let extras = machine.extras { while extras.finishWaiters.popFirst() != nil {} }
  }

  /// The rules of the game that an order of events has broken.
  private(set) var disagreement: String?

  private func expect(_ isRight: Bool, _ what: @autoclosure () -> String) {
    if !isRight, disagreement == nil { disagreement = what() }
  }

  /// All that makes a difference to what comes.
  var key: String {
    "\(outcome.map { "\($0)" } ?? "-") \(isTelling) \(mustDeliver) \(finishOfSettlement) \(leavesUpstream) "
      + "\(hasWork) \(isRunning) \(isWaitingForOther) \(isMember) \(isInQueue) \(isPerhapsInQueue) "
      + "\(isStarted) \(isInQueueAgain) \(isFinished) \(hasBeenLeftByCancelling) "
      + line.map { letter($0.name) + ($0.wants ? "+" : "-") }.joined() + " "
      + finishLine.map(letter).joined()
      + (machine.extras == nil ? "" : " extras")
  }

  private func letter(_ name: Name) -> String {
    name == Name(consumer) ? "c" : name == Name(watcher) ? "w" : "f"
  }

  // MARK: The operation

  /// Whether an event that may finish the operation does.
  private func mayFinish() -> Finish {
    guard outcome != nil, !isRunning, !isFinished else { return .later }
    if isInQueueAgain || (isInQueue || isPerhapsInQueue) && !isStarted { return .whenStarted }
    isFinished = true
    return .now
  }

  private func expectFinish(_ finish: Finish, _ event: MachineEvent) {
    if finish == .now { finishes += 1 }
    let expected = mayFinish()
    expect(finish == expected, "\(event) means \(finish) and should mean \(expected)")
    if finish == .now { tellFinishWaiters() }
  }

  /// The storage takes the waiters for the finish as soon as it has come.
  private func tellFinishWaiters() {
    var waiters = machine.extras?.finishWaiters.take() ?? WaiterList()
    var names: [Name] = []
    while case .callback(let callback)? = waiters.popFirst() {
      names.append(Name(callback))
      told[Name(callback), default: 0] += 1
    }
    expect(names == finishLine, "told of the finish in the wrong order, or the wrong ones")
    finishLine = []
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
    isTelling = true
    mustDeliver = true
    leavesUpstream = origin == .outside
    if origin == .closure { isRunning = false }
    finishOfSettlement = mayFinish()
  }

  private func closureReturns(_ event: MachineEvent) {
    let finish = machine.closureReturned()
    guard isRunning else { return expect(finish == .later, "a closure returned that did not run") }
    isRunning = false
    expectFinish(finish, event)
  }

  // MARK: Those who wait

  private func attach(_ waiter: Named, wants: Bool) {
    let name = Name(waiter)
    // (A waiter waits in one place at a time.)
    guard !line.contains(where: { $0.name == name }), !finishLine.contains(name) else { return }
    came[name, default: 0] += 1
    let isIn = machine.attach(.callback(waiter), isConsumer: wants)
    let isInLine = outcome == nil || isTelling
    let isKept = !isInLine && waiter.waitsForFinish && !isFinished
    expect(isIn == (isInLine || isKept), "\(isIn ? "in line" : "told at once")")
    if isInLine {
      line.append((name, wants))
    } else if isKept {
      finishLine.append(name)
    } else {
      told[name, default: 0] += 1
    }
  }

  private func leave(_ waiter: Named, cancelling: Bool) {
    let name = Name(waiter)
    let isAsked = machine.leave(.callback(waiter), cancelling: cancelling)
    if let place = finishLine.firstIndex(of: name) {
      finishLine.remove(at: place)
      left[name, default: 0] += 1
      return expect(!isAsked, "a settled future is asked to cancel")
    }
    guard outcome == nil, let place = line.firstIndex(where: { $0.name == name }) else {
      return expect(!isAsked, "one who could not leave was the last")
    }
    let wasConsumer = line.remove(at: place).wants
    left[name, default: 0] += 1
    if cancelling, wasConsumer { hasBeenLeftByCancelling = true }
    let isLast = !line.contains { $0.wants }
    expect(
      isAsked == (isLast && (hasBeenLeftByCancelling || cancelling)),
      "asked to cancel: \(isAsked)")
  }

  /// Tells waiters as the library does; the waiters for the finish stay if it
  /// has not come.
  private func expectAll(_ waiters: WaiterList) {
    var waiters = waiters
    var names: [Name] = []
    while case .callback(let callback)? = waiters.popFirst() {
      names.append(Name(callback))
      if callback.waitsForFinish, !isFinished {
        expect(machine.keepUntilFinish(.callback(callback)), "not kept until the finish")
        finishLine.append(Name(callback))
      } else {
        if callback.waitsForFinish {
          expect(!machine.keepUntilFinish(.callback(callback)), "kept although it has finished")
        }
        told[Name(callback), default: 0] += 1
      }
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
    expect(settlement.mayOthersCome == !line.isEmpty, "others may come: \(!line.isEmpty)")
    if case .none = settlement.upstream {
      expect(!isWaitingForOther, "what was waited for is lost")
    } else {
      expect(isWaitingForOther, "waits for something it had let go of")
    }
    if finishOfSettlement == .now {
      finishes += 1
      tellFinishWaiters()
    }
    hasWork = false
    isWaitingForOther = false
    if line.isEmpty { isTelling = false }
    expectAll(settlement.waiters)
  }

  private func takeLate() {
    guard outcome != nil, !mustDeliver, isTelling else { return }
    if line.isEmpty { isTelling = false }
    expectAll(machine.takeLateWaiters())
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
    case .attachConsumer: attach(consumer, wants: true)
    case .attachWatcher: attach(watcher, wants: false)
    case .attachFinishWaiter: attach(finishWaiter, wants: false)
    case .leaveConsumer: leave(consumer, cancelling: false)
    case .leaveConsumerCancelled: leave(consumer, cancelling: true)
    case .leaveWatcher: leave(watcher, cancelling: true)
    case .leaveFinishWaiter: leave(finishWaiter, cancelling: false)
    case .becomeConsumer:
      let place = line.firstIndex { $0.name == Name(watcher) && !$0.wants }
      let mayBecome = outcome == nil && place != nil
      expect(
        machine.becomeConsumer(.callback(watcher)) == mayBecome, "becomes a consumer: \(mayBecome)")
      if mayBecome, let place { line[place].wants = true }
    case .run:
      let mayRun = outcome == nil && hasWork && !isRunning
      let ran = machine.run()
      expect((ran != nil) == mayRun, "the closure may run: \(mayRun)")
      guard mayRun else { return }
      if case .none? = ran?.upstream {
        expect(!isWaitingForOther, "the edge is not released")
      } else {
        expect(isWaitingForOther, "an edge that was not there")
      }
      hasWork = false
      isRunning = true
      isWaitingForOther = false
    case .closureSettles: if isRunning { settle(.success, from: .closure) }
    case .wait:
      // (A closure that returns a future, or a future that is pointed elsewhere.)
      let waits = machine.wait(for: .source(Self.inner)) != nil
      expect(waits == (outcome == nil), "waits for a future after it has settled, or does not")
      if waits {
        isRunning = false
        isWaitingForOther = true
      } else if isRunning {
        closureReturns(event)
      }
    case .closureBlocks:
      let mayBlock = isRunning && outcome == nil
      expect((machine.block(on: .source(Self.inner)) != nil) == mayBlock, "blocks: \(mayBlock)")
      if mayBlock { isWaitingForOther = true }
    case .closureReturns: if outcome != nil { closureReturns(event) }
    case .takeWork:
      expect((machine.takeWork() != nil) == hasWork, "an observer's handler is lost, or twice")
      hasWork = false
    case .join, .enqueue, .lookAt, .start, .finishUnstarted: applyToOperation(event)
    }
    compare(after: event)
  }

  private func applyToOperation(_ event: MachineEvent) {
    switch event {
    case .join:
      // (What is settled and waits for a queue that may not hold it: see
      // `FutureStateMachineTests`.)
      guard !(isPerhapsInQueue && outcome != nil && !isRunning && !isFinished) else { return }
      let mayJoin = !isInQueue && !isMember && !isStarted
      expect(machine.join() == mayJoin, "may join a queue: \(mayJoin)")
      if mayJoin {
        isMember = true
        isPerhapsInQueue = false
      }
    case .enqueue:
      machine.enqueue(isCertain: true)
      guard !isFinished else { return }
      if isStarted {
        isInQueueAgain = true
        return
      }
      isInQueue = true
      isMember = false
      isPerhapsInQueue = false
    case .lookAt:
      machine.enqueue(isCertain: false)
      if !isFinished, !isStarted, !isInQueue, !isMember { isPerhapsInQueue = true }
    case .start:
      let finish = machine.start()
      guard !isFinished else { return expect(finish == .later, "finished twice") }
      let waited = outcome != nil && !isRunning
      isStarted = true
      isInQueueAgain = false
      isMember = false
      isPerhapsInQueue = false
      if waited { expectFinish(finish, event) } else { expect(finish == .later, "finished early") }
    case .finishUnstarted:
      let finish = machine.finishUnstarted()
      guard outcome != nil, !isRunning, !isFinished else {
        return expect(finish == .later, "finished while pending, or twice")
      }
      isStarted = true
      isInQueueAgain = false
      isPerhapsInQueue = false
      expectFinish(finish, event)
    default: break
    }
  }

  // MARK: What holds

  private var expectedPhase: FutureStateMachine.Phase {
    if isFinished { return .finished }
    if outcome == nil { return isRunning ? .running : .waiting }
    return isRunning ? .settledWhileRunning : .settledInQueue
  }

  private var expectedPlace: FutureStateMachine.Place {
    if isStarted { return isInQueueAgain ? .queuedAgain : .started }
    if isInQueue { return .queued }
    return isMember ? .member : isPerhapsInQueue ? .perhapsQueued : .none
  }

  private func compare(after event: MachineEvent) {
    if let broken = machine.brokenInvariant { expect(false, "after \(event): \(broken)") }
    expect(machine.phase == expectedPhase, "\(machine.phase) after \(event)")
    expect(machine.place == expectedPlace, "\(machine.place) after \(event)")
    expect(machine.isSettled == (outcome != nil), "whether it has settled after \(event)")
    if let outcome { expect(machine.outcome == outcome, "the outcome after \(event)") }
    expect(machine.isClosureActive == isRunning, "whether the closure runs after \(event)")
    expect((machine.work != nil) == hasWork, "whether the closure is kept after \(event)")
    expect(machine.isTelling == isTelling, "whether it is telling after \(event)")
    if case .none = machine.upstream {
      expect(!isWaitingForOther, "what it waits for is lost after \(event)")
    } else {
      expect(isWaitingForOther, "what it waited for is kept after \(event)")
    }
    expect(names(machine.waiters) == line.map(\.name), "who waits after \(event)")
    let finishWaiters = machine.extras.map { names($0.finishWaiters) } ?? []
    expect(finishWaiters == finishLine, "who waits for the finish after \(event)")
    if outcome == nil {
      expect(
        Int(machine.consumerCount) == line.count { $0.wants },
        "how many are consumers after \(event)")
    }
  }

  private func names(_ list: WaiterList) -> [Name] {
    var names: [Name] = []
    list.forEach { waiter in
      if case .callback(let callback) = waiter { names.append(Name(callback)) }
      return true
    }
    return names
  }

  /// Takes the waiters out of the machine without telling the model.
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
    if isInQueue || isInQueueAgain { apply(.start) }
    apply(.finishUnstarted)
    expect(!isTelling, "telling never ends")
    expect(machine.phase == .finished, "never finishes")
    expect(finishes == 1, "finished \(finishes) times")
    for (name, times) in came {
      expect(
        told[name, default: 0] + left[name, default: 0] == times,
        "somebody came \(times) times, was told \(told[name, default: 0]) times and left "
          + "\(left[name, default: 0]) times")
    }
  }
}
