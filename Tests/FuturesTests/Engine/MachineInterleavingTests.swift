import Foundation
import TestSupport
import Testing

@testable import Futures

/// Whether the longest ones run too; `.ci/stress` asks for them.
private let isStressing = ProcessInfo.processInfo.environment["PROPERATIONS_STRESS"] == "1"

/// Every order of events of the state machine, each step compared with a model
/// and with the machine's own invariants.
@Suite("Orders of the machine's events", .timeLimit(.minutes(1)), .oneAtATime)
struct MachineInterleavingTests {
  /// Plays an order; the answer is what went wrong in it.
  private func fault(in order: [MachineEvent]) -> String? {
    let model = MachineModel()
    for event in order where model.disagreement == nil { model.apply(event) }
    if model.disagreement == nil { model.end() }
    return model.disagreement.map { "\($0), in \(order)" }
  }

  private func check(
    _ actors: [[MachineEvent]], _ expected: Int, _ location: SourceLocation = #_sourceLocation
  ) {
    var first: String?
    let count = Interleavings.of(actors) { order in
      if first == nil { first = fault(in: order) }
    }
    #expect(first == nil, sourceLocation: location)
    #expect(count == expected, sourceLocation: location)
  }

  @Test func `late comers of two threads between the steps of a delivery`() {
    check(
      [
        [.succeed, .startHere, .deliver, .takeLate],
        [.attachDemanding, .leaveDemanding, .attachDemanding, .watch],
        [.attachFromHere, .attachWatching, .demand, .leaveWatching],
      ], 34_650)
  }

  @Test func `a closure that waits for another future, which is pointed elsewhere`() {
    check(
      [
        [.run, .closureWaits, .retarget, .failFromUpstream],
        [.attachDemanding, .cancel, .deliver, .takeLate],
        [.watch, .closureReturns, .attachWatching, .takeLate],
      ], 34_650)
  }

  @Test func `an observer whose handler is taken while its settlement is delivered`() {
    check(
      [
        [.failFromUpstream, .takeHandler, .deliver, .takeLate],
        [.cancel, .deliver, .startHere, .takeHandler],
        [.attachDemanding, .attachFromHere, .leaveDemanding, .attachWatching],
      ], 34_650)
  }

  @Test func `two front doors of queues, the queue's start, and the closure's end`() {
    check(
      [
        [.run, .closureSettles, .deliver, .takeLate],
        [.join, .enqueue, .start, .finishUnstarted],
        [.cancel, .enqueue, .start, .closureReturns],
      ], 34_650)
  }

  @Test(.enabled(if: isStressing))
  func `five actors with two events each`() {
    check(
      [
        [.run, .closureFails], [.cancel, .deliver], [.attachDemanding, .leaveDemanding],
        [.enqueue, .start], [.attachWatching, .demand],
      ], 113_400)
  }

  @Test(.guarantee(1)) func `every sequence of three of the 24 events, of four if asked for`() {
    let length = isStressing ? 4 : 3
    var first: String?
    let count = Interleavings.sequences(of: MachineEvent.allCases, length: length) { order in
      if first == nil { first = fault(in: order) }
    }
    #expect(first == nil)
    #expect(count == (isStressing ? 331_776 : 13_824))
  }

  @Test func `a broken rule is noticed: a waiter that is told although it has left`() {
    // The model itself must be able to say no: a settlement is delivered behind
    // its back.
    let model = MachineModel()
    model.apply(.attachDemanding)
    model.apply(.succeed)
    model.betray()
    model.apply(.deliver)
    #expect(model.disagreement != nil)
  }
}
