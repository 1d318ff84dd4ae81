import Foundation
import TestSupport
import Testing

@testable import Futures

/// What each event does in each phase and in each place, as a table.
@Suite("The tables of the state machine", .timeLimit(.minutes(5)), .oneAtATime)
struct MachineTableTests {
  private typealias Phase = FutureStateMachine.Phase
  private typealias Place = FutureStateMachine.Place

  enum Event: String, CaseIterable {
    case settle, settledUpstream, settledByClosure
    case run, wait, block, closureReturns
    case start, finishUnstarted, join, enqueue, lookAt
  }

  private static let phases: [Phase] = [
    .waiting, .running, .settledWhileRunning, .settledInQueue, .finished,
  ]
  private static let places: [Place] = [
    .none, .perhapsQueued, .member, .queued, .started, .queuedAgain,
  ]

  /// The short way to a phase and a place; `nil` if the two exclude each other.
  private static func machine(_ phase: Phase, _ place: Place) -> FutureStateMachine? {
    var machine = FutureStateMachine(upstream: .none, work: Work { _, _ in })
    if phase == .running || phase == .settledWhileRunning { _ = machine.run() }
    switch place {
    case .none: break
    case .perhapsQueued: machine.enqueue(isCertain: false)
    case .member: _ = machine.join()
    case .queued: machine.enqueue(isCertain: true)
    case .started: _ = machine.start()
    case .queuedAgain:
      _ = machine.start()
      machine.enqueue(isCertain: true)
    }
    if phase.rawValue >= Phase.settledWhileRunning.rawValue {
      _ = machine.settle(.success, from: .outside)
    }
    guard machine.phase == phase, machine.place == place else { return nil }
    return machine
  }

  /// What an event answers.
  private static func apply(_ event: Event, to machine: inout FutureStateMachine) -> String {
    switch event {
    case .settle: machine.settle(.failure, from: .outside) ? "first" : "late"
    case .settledUpstream: machine.settle(.failure, from: .upstream) ? "first" : "late"
    case .settledByClosure: machine.settle(.failure, from: .closure) ? "first" : "late"
    case .run: machine.run() == nil ? "no" : "yes"
    case .wait: machine.wait(for: .none) == nil ? "no" : "yes"
    case .block: machine.block(on: .none) == nil ? "no" : "yes"
    case .closureReturns: "\(machine.closureReturned())"
    case .start: "\(machine.start())"
    case .finishUnstarted: "\(machine.finishUnstarted())"
    case .join: machine.join() ? "yes" : "no"
    case .enqueue:
      {
        machine.enqueue(isCertain: true); return ""
      }()
    case .lookAt:
      {
        machine.enqueue(isCertain: false); return ""
      }()
    }
  }

  /// For each event, what it answers and where it leads from each of the phases,
  /// in their order; of a future in no queue, and of one that a queue holds.
  private static let phaseTable: [Event: [String]] = [
    .settle: [
      "first finished", "first settledWhileRunning", "late settledWhileRunning",
      "late settledInQueue", "late finished",
    ],
    .settledUpstream: [
      "first finished", "first settledWhileRunning", "late settledWhileRunning",
      "late settledInQueue", "late finished",
    ],
    .settledByClosure: [
      "first finished", "first finished", "late settledWhileRunning", "late settledInQueue",
      "late finished",
    ],
    .run: [
      "yes running", "no running", "no settledWhileRunning", "no settledInQueue", "no finished",
    ],
    .wait: [
      "yes waiting", "yes waiting", "no settledWhileRunning", "no settledInQueue", "no finished",
    ],
    .block: [
      "no waiting", "yes running", "no settledWhileRunning", "no settledInQueue", "no finished",
    ],
    .closureReturns: [
      "later waiting", "later running", "now finished", "later settledInQueue", "later finished",
    ],
    .start: [
      "later waiting", "later running", "later settledWhileRunning", "now finished",
      "later finished",
    ],
    .finishUnstarted: [
      "later waiting", "later running", "later settledWhileRunning", "now finished",
      "later finished",
    ],
    .join: ["waiting", "running", "settledWhileRunning", "settledInQueue", "finished"],
    .enqueue: ["waiting", "running", "settledWhileRunning", "settledInQueue", "finished"],
    .lookAt: ["waiting", "running", "settledWhileRunning", "settledInQueue", "finished"],
  ]

  @Test(arguments: Event.allCases)
  func `every event in every phase leads where the table says`(_ event: Event) throws {
    let row = try #require(Self.phaseTable[event])
    for place in Self.places {
      let waits = [.queued, .perhapsQueued, .queuedAgain].contains(place)
      for (phase, cell) in zip(Self.phases, row) {
        guard var machine = Self.machine(phase, place) else { continue }
        let answer = Self.apply(event, to: &machine)
        let isAboutPlaces = [.join, .enqueue, .lookAt].contains(event)
        let new = machine.phase
        let result = isAboutPlaces ? "\(new)" : "\(answer) \(new)"
        // What a queue holds, and has not started, waits for the start.
        var expected = cell
        if waits, event != .start, event != .finishUnstarted, phase != .finished {
          expected =
            cell.replacing("now finished", with: "whenStarted settledInQueue")
            .replacing("first finished", with: "first settledInQueue")
        }
        #expect(result == expected, "\(event) while \(phase), \(place)")
      }
    }
  }

  @Test func `of the 30 pairs of a phase and a place those exist that can`() {
    let missing = Self.phases.flatMap { phase in
      Self.places.compactMap { place in
        Self.machine(phase, place) == nil ? "\(phase) \(place)" : nil
      }
    }
    #expect(
      missing == [
        "settledInQueue none", "settledInQueue member", "settledInQueue started",
        "finished perhapsQueued", "finished queued", "finished queuedAgain",
      ])
  }

  /// For each event about the operation, where it leads from each of the places.
  private static let placeTable: [Event: [String]] = [
    .join: [
      "yes member", "yes member", "no member", "no queued", "no started", "no queuedAgain",
    ],
    .enqueue: [" queued", " queued", " queued", " queued", " queuedAgain", " queuedAgain"],
    .lookAt: [
      " perhapsQueued", " perhapsQueued", " member", " queued", " started", " queuedAgain",
    ],
    .start: Array(repeating: "later started", count: 6),
    .finishUnstarted: [
      "later none", "later perhapsQueued", "later member", "later queued", "later started",
      "later queuedAgain",
    ],
  ]

  @Test(arguments: [Event.join, .enqueue, .lookAt, .start, .finishUnstarted])
  func `every event of a pending operation in every place leads where the table says`(
    _ event: Event
  ) throws {
    let row = try #require(Self.placeTable[event])
    for phase in [Phase.waiting, .running, .settledWhileRunning] {
      for (place, expected) in zip(Self.places, row) {
        guard var machine = Self.machine(phase, place) else { continue }
        let answer = Self.apply(event, to: &machine)
        let new = machine.place
        #expect("\(answer) \(new)" == expected, "\(event) while \(phase), \(place)")
      }
    }
  }

  @Test func `whose async closure runs in a task: finishes when settled and returned`() {
    for origin in [SettlementOrigin.outside, .upstream, .closure] {
      for place in [Place.none, .queued] {
        var machine = FutureStateMachine(upstream: .none, work: nil)
        machine.runInTask()
        if place == .queued { machine.enqueue(isCertain: true) }
        let isFirst = machine.settle(.cancelled, from: origin)
        let phase = machine.phase
        #expect(isFirst && phase == .settledWhileRunning)
        let finish = machine.closureReturned()
        let broken = machine.brokenInvariant
        #expect(finish == (place == .queued ? .whenStarted : .now) && broken == nil)
      }
    }
    var machine = FutureStateMachine(upstream: .none, work: nil)
    machine.runInTask()
    let finish = machine.closureReturned()
    _ = machine.settle(.success, from: .outside)
    let phase = machine.phase
    #expect(finish == .later && phase == .finished)
  }

  @Test func `a finished operation enters no queue, and may only become a member`() {
    for place in Self.places {
      for event in [Event.enqueue, .lookAt, .start, .finishUnstarted] {
        guard var machine = Self.machine(.finished, place) else { continue }
        _ = Self.apply(event, to: &machine)
        let new = machine.place
        #expect(new == place, "\(event)")
      }
    }
  }

  @Test func `a future that was looked at, settles and is then put in a queue is in order`() {
    // Only where nothing tells a queue from anybody else who looks.
    var machine = FutureStateMachine(upstream: .none, work: nil)
    machine.enqueue(isCertain: false)
    _ = machine.settle(.success, from: .outside)
    _ = machine.join()
    let broken = machine.brokenInvariant
    #expect(broken == nil)
    let finish = machine.finishUnstarted()
    #expect(finish == .now)
  }

  @Test func `what was waited for is left only if somebody else settled`() {
    for origin in [SettlementOrigin.outside, .upstream, .closure] {
      var machine = FutureStateMachine(upstream: .source(CallbackWaiter()), work: nil)
      _ = machine.settle(.failure, from: origin)
      let settlement = machine.deliver()
      #expect(settlement.leavesUpstream == (origin == .outside))
    }
  }

  @Test func `the delivery hands out closure, context and edge, and keeps none of them`() {
    let context = ContextReference(DispatchQueue(label: "handed out"))
    var machine = FutureStateMachine(
      upstream: .source(CallbackWaiter()), work: Work { _, _ in }, context: context)
    _ = machine.settle(.cancelled, from: .outside)
    let settlement = machine.deliver()
    #expect(settlement.work != nil)
    #expect(settlement.context.isSame(as: context))
    if case .source = settlement.upstream {} else { Issue.record("no edge") }
    let again = machine.deliver()
    #expect(again.work == nil)
    if case .none = again.upstream {} else { Issue.record("the edge is kept") }
    if case .inline = again.context {} else { Issue.record("the context is kept") }
  }

  @Test func `settleUnseen settles and hands the closure out, with its context`() {
    let context = ContextReference(DispatchQueue(label: "handed out"))
    var machine = FutureStateMachine(upstream: .none, work: Work { _, _ in }, context: context)
    let handedOut = machine.settleUnseen(.failure, isActing: true)
    #expect(handedOut?.work != nil)
    #expect(handedOut?.context.isSame(as: context) == true)
    let isSettledAgain = machine.settle(.success, from: .outside)
    #expect(!isSettledAgain)
    let (outcome, phase) = (machine.outcome, machine.phase)
    #expect(outcome == .failure)
    #expect(phase == .finished)
    let again = machine.settleUnseen(.success, isActing: true)
    #expect(again == nil)
  }

  @Test func `settleUnseen changes nothing where there is a waiter, or a queue`() {
    var machine = FutureStateMachine(upstream: .none, work: Work { _, _ in })
    let waiter = CallbackWaiter()
    let isAttached = machine.attach(.callback(waiter), isConsumer: true)
    #expect(isAttached)
    let ofAttached = machine.settleUnseen(.success, isActing: true)
    #expect(ofAttached == nil)
    var queued = FutureStateMachine(upstream: .none, work: Work { _, _ in })
    queued.enqueue(isCertain: true)
    let ofQueued = queued.settleUnseen(.success, isActing: true)
    #expect(ofQueued == nil)
    let isEitherSettled = machine.isSettled || queued.isSettled
    #expect(!isEitherSettled)
  }

  @Test func `takeWork hands the closure out once, with its context, also when settled`() {
    let context = ContextReference(DispatchQueue(label: "handed out"))
    var machine = FutureStateMachine(upstream: .none, work: Work { _, _ in }, context: context)
    _ = machine.settle(.success, from: .upstream)
    let first = machine.takeWork()
    let second = machine.takeWork()
    #expect(first?.context.isSame(as: context) == true)
    #expect(second == nil)
  }
}
