import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing
import TypedTasks

@Suite("Races of tasks in queues", .timeLimit(.minutes(5)), .oneAtATime)
struct RaceInQueueTests {
  private static func chainOfRaces(_ count: Int) -> ProducerTask<Int, TestError> {
    var race: ProducerTask<Int, TestError> = succeeding(1)
    for _ in 0..<count { race = race.firstOf(failing()) }
    return race
  }

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

  @Test("The only thread runs a task behind the loser of a race: the race ends with its winner")
  func loserBehindAnOperator() async {
    let serial = TaskQueue(underlyingQueue: DispatchQueue(label: "serial"))
    let (started, go) = (Event(), Event())
    let slow = Sample<Int> { _, finish in
      started.signal()
      go.wait()
      finish(.success(2))
    }
    let winner = Manual<Int>()
    TaskQueue().addTask(winner)
    let race = slow.map { $0 }.filter { _ in true }.firstOf(winner)
    serial.addTask(race)
    #expect(await started.opened())
    #expect(await winner.started.opened())
    winner.finish(with: .success(1))
    #expect(await eventually { race.isFinished })
    #expect(race.success == 1)
    go.signal()
    await serial.finished()
  }

  @Test("The winner of a race in a suspended queue is known: the race ends")
  func raceInASuspendedQueue() async {
    let queue = TaskQueue(startSuspended: true)
    let ready: ProducerTask<Int, TestError> = Tasks.just(1)
    let race = ready.firstOf(succeeding(2))
    queue.addTask(race)
    #expect(await eventually { race.isFinished })
    #expect(race.success == 1)
    queue.isSuspended = false
    await queue.finished()
  }

  @Test("A long chain of races is dropped before it is in a queue: needs no stack")
  func chainOfRacesIsDropped() async throws {
    try await SmallStackThread.running {
      let race = Self.chainOfRaces(20_000)
      withExtendedLifetime(race) {}
    }
  }

  @Test("A long chain of races has run, and is released: needs no stack")
  func chainOfRacesHasRun() async throws {
    try await SmallStackThread.running {
      let (queue, race) = (TaskQueue(), Self.chainOfRaces(20_000))
      queue.addTask(race)
      queue.waitUntilAllTasksAreFinished()
      #expect(race.success == 1)
    }
  }

  @Test("A race and a zip have ended: they keep none of their tasks")
  func joinsLetGo() async {
    let queue = TaskQueue()
    let (race, zip, members) = {
      let members = (0..<4).map { number in
        succeeding(number).eraseToProducerTask()
      }
      let race = members[0].firstOf(members[1])
      let zip = members[2].zip(members[3])
      return (race, zip, members.map(WeakFuture.init))
    }()
    queue.addTask(race)
    queue.addTask(zip)
    #expect(await race.outcome() == .success)
    #expect(await zip.outcome() == .success)
    await queue.finished()
    #expect(await eventually { members.allSatisfy { $0.future == nil } })
    withExtendedLifetime((race, zip)) {}
  }

  @Test("The loser of a race has the only thread of a queue until it is cancelled: the race ends")
  func loserHasTheThread() async {
    let serial = TaskQueue(underlyingQueue: DispatchQueue(label: "serial"))
    let (started, cancelled) = (Event(), Event())
    let loser = Sample<Int> { task, finish in
      task.onCancellationRequest { cancelled.signal() }
      started.signal()
      cancelled.wait()
      finish(.success(2))
    }
    let winner = Manual<Int>()
    TaskQueue().addTask(winner)
    let race = loser.firstOf(winner)
    serial.addTask(race)
    #expect(await started.opened())
    #expect(await winner.started.opened())
    winner.finish(with: .success(1))
    #expect(await eventually { race.isFinished })
    #expect(race.success == 1)
    cancelled.signal()
    await serial.finished()
  }
}

/// A reference that does not keep a future.
private struct WeakFuture: @unchecked Sendable {
  // Sendable: never written after init.
  private(set) weak var future: AnyFuture?
  init(_ future: AnyFuture) { self.future = future }
}
