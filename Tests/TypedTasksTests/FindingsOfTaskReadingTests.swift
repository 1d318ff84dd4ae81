import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("What a reading of the whole module found", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfTaskReadingTests {
  // MARK: Races

  private static func chainOfRaces(_ count: Int) -> ProducerTask<Int, TestError> {
    var race: ProducerTask<Int, TestError> = succeeding(1)
    for _ in 0..<count { race = race.firstOf(failing()) }
    return race
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

  // MARK: Plain queues

  #if os(Linux)
    @Test("All shared threads block, a plain queue has a thread of its own: its task runs")
    func plainQueueBesideBlockedThreads() async {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          for _ in 0..<16 { DispatchQueue.global().async { while true { sleep(1) } } }
          let (queue, own, task) = (OperationQueue(), DispatchQueue(label: "own"), succeeding(1))
          queue.underlyingQueue = own
          queue.addOperation(task)
          return withExtendedLifetime(own) { try? task.wait(timeout: Event.patience) } == 1
        }
      }
    }
  #endif

  // MARK: Barriers

  @Test("Futures are cancelled behind a barrier that waits: the queue lets go of them")
  func cancelledFuturesBehindBarrier() async {
    let (queue, front) = (TaskQueue(), Manual<Int>())
    queue.addTask(front)
    queue.addBarrierBlock {}
    #expect(await front.started.opened())
    for _ in 0..<1_000 {
      let future = Promises.make(promising: Int.self)
      queue.addOperation(future)
      future.cancel()
    }
    #expect(await eventually { heldByBarriers(of: queue) < 500 })
    front.finish(with: .success(1))
    await queue.finished()
  }

  @Test("Tasks and closures wait behind a barrier: they run in the order in which they came")
  func orderBehindBarrier() async {
    let (queue, log) = (TaskQueue(maxConcurrentTaskCount: 1, startSuspended: true), Log<Int>())
    queue.addBarrierBlock {}
    for number in 0..<20 {
      if number.isMultiple(of: 2) {
        queue.addBlock { log.append(number) }
      } else {
        queue.addTask(
          Sample<Int> { _ in
            log.append(number); return number
          })
      }
    }
    queue.isSuspended = false
    await queue.finished()
    #expect(log.entries == Array(0..<20))
  }

  // MARK: Groups

  /// A queue that counts how often its limit is read.
  private final class ReadQueue: TaskQueue, @unchecked Sendable {
    let reads = Counter()

    override var maxConcurrentOperationCount: Int {
      get {
        reads.add()
        return super.maxConcurrentOperationCount
      }
      set { super.maxConcurrentOperationCount = newValue }
    }
  }

  @Test("The limit is zero for a while, and then a member needs the group's slot: the group ends")
  func limitIsZeroForAWhile() async {
    let queue = ReadQueue(maxConcurrentTaskCount: 1)
    let (needed, first) = (succeeding(1), Manual<Int>())
    let group = GroupProducerTask<Void, TestError>(tasks: [
      first, succeeding(2).addDependency(needed),
    ])
    queue.addTask(group)
    #expect(await first.started.opened())
    queue.maxConcurrentOperationCount = 0
    // The group looks at its slot, and finds that the queue has none.
    let reads = queue.reads.value
    #expect(await eventually { queue.reads.value > reads })
    queue.maxConcurrentOperationCount = 1
    queue.addTask(needed)
    first.finish(with: .success(1))
    #expect(await group.outcome() == .success)
  }

  @Test("The limit of a queue is changed a thousand times: a group looks at its slot as before")
  func limitChangesOften() async {
    let (queue, member) = (ReadQueue(maxConcurrentTaskCount: 1), Manual<Int>())
    let group = GroupProducerTask<Void, TestError>(tasks: [member])
    queue.addTask(group)
    #expect(await member.started.opened())
    for _ in 0..<1_000 {
      queue.maxConcurrentTaskCount = OperationQueue.defaultMaxConcurrentOperationCount
      queue.maxConcurrentTaskCount = 1
    }
    let reads = queue.reads.value
    #expect(await eventually { queue.reads.value > reads + 5 })
    #expect(queue.reads.value < reads + 100)
    member.finish(with: .success(1))
    #expect(await group.outcome() == .success)
  }

  @Test("Forty layers of two groups are around one task: another group gives its slot back")
  func layersOfGroups() async {
    let (queue, other, blocked) = (
      TaskQueue(maxConcurrentTaskCount: 1), TaskQueue(maxConcurrentTaskCount: 1), Manual<Int>()
    )
    var layer: [any ProducerTaskProtocol] = [blocked]
    for _ in 0..<40 {
      let tasks = layer
      layer = (0..<2).map { _ in GroupTask<TestError>(tasks: tasks) }
    }
    let outermost = GroupTask<TestError>(tasks: layer)
    queue.addTask(outermost)
    #expect(await blocked.started.opened())
    // The library looks at the first group before it looks at this one.
    let member: Sample<Int> = succeeding(1)
    member.receive(on: other).receive { _ in }
    let group = GroupTask<TestError>(tasks: [member])
    other.addTask(group)
    #expect(await eventually { group.isFinished })
    blocked.finish(with: .success(1))
    #expect(await outermost.outcome() == .success)
  }
}

/// A reference that does not keep a future.
private struct WeakFuture: @unchecked Sendable {
  // Sendable: never written after init.
  private(set) weak var future: AnyFuture?
  init(_ future: AnyFuture) { self.future = future }
}
