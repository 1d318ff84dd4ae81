import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing
import TypedTasks

private enum Printer {}

@Suite("What hostile programs found in typed tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfHostileProgramsTests {
  // MARK: Slots

  @Test func `a race ends although a loser that only a cancellation ends has the last slot`() async
  {
    let (queue, other) = (TaskQueue(maxConcurrentTaskCount: 1), TaskQueue())
    let (hasBegun, gate) = (Event(), Promise<Int>())
    let loser = Sample<Int> { task, finish in
      task.onCancellationRequest { finish(.failure(.internal(ProducerTaskError.cancelled))) }
      hasBegun.signal()
    }
    let winner: Sample<Int> = succeeding(1)
    winner.addDependency(gate)
    other.addTask(winner)
    let race = loser.firstOf(winner)
    queue.addTask(race)
    #expect(await hasBegun.opened())
    gate.succeed(with: 1)
    #expect(await race.outcome() == .success)
    #expect(race.success == 1)
    #expect(await loser.outcome() == .cancelled)
  }
}
