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

  @Test func `a gated task that timed out keeps its slot until its operation ends`() async {
    let (queue, clock, operation) = (
      TaskQueue(maxConcurrentTaskCount: 1), ManualClock(), ManualOperation()
    )
    let gated = GatedTask(operation: operation)
      .addCondition(.mutuallyExclusive(Printer.self))
      .addObserver(.timeout(.seconds(1), clock: clock))
    let next: Sample<Int> = succeeding(1)
    let elsewhere = exclusive(Printer.self)
    queue.addTasks(gated, next)
    #expect(await eventually { operation.isExecuting && clock.sleeping > 0 })
    TaskQueue().addTask(elsewhere)
    clock.advance(by: .seconds(1))
    #expect(await gated.outcome() == .timeout)
    #expect(operation.isCancelled)
    #expect(!next.isExecuting && !next.isFinished)
    #expect(!elsewhere.isExecuting && !elsewhere.isFinished)
    operation.end()
    #expect(await next.outcome() == .success)
    #expect(await elsewhere.outcome() == .success)
  }
}
