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

  @Test func `a gated task of a lazy future starts its work`() async {
    let made = Counter()
    let gated = GatedTask(
      operation: Promises.lazy {
        made.add()
        return Promises.makeSucceeded(with: 1)
      })
    TaskQueue().addTask(gated)
    #expect(await gated.outcome() == .success)
    #expect(made.value == 1)
  }

  // MARK: Observers

  @Test func `a timeout lets go of a task that ends before the timeout is told of the start`()
    async throws
  {
    let (queue, clock) = (TaskQueue(), ManualClock())
    try await expectReleased(within: Event.patience) { tracker in
      let task = Manual<Int>()
      task.addObserver(
        BlockObserver(didStart: { [unowned task] _ in
          Thread { task.finish(with: .success(1)) }.start()
          // The observers are told of the end before the queue lets the task go.
          _ = eventuallyBlocking { queue.taskCount == 0 }
        }))
      // Its timer keeps it.
      task.addObserver(tracker.track(Observers.Timeout(.seconds(1), clock: clock)))
      queue.addTask(task)
      #expect(await task.outcome() == .success)
    }
  }

  // MARK: Consumers

  @Test func `an operator that its queue refuses does not keep its upstream wanted`() async throws {
    let (queue, closed, gate) = (TaskQueue(), TaskQueue(), Promise<Int>())
    _ = try await closed.shutDown(within: .seconds(10)).value
    let source: Sample<Int> = succeeding(1)
    source.addDependency(gate)
    let stage = source.map { $0 }
    queue.addTask(stage)
    let refused = Tasks.collect([source, source.map { $0 }])
    closed.addTask(refused)
    #expect(await refused.outcome() == .otherInternal)
    stage.cancel()
    #expect(await eventually { source.isCancelled })
  }

  // MARK: Errors

  @Test func `a group that any error may end is cancelled by a member of another type`() async {
    let (queue, gate) = (TaskQueue(), Promise<Int>())
    let member: Sample<Int> = succeeding(1)
    member.addDependency(gate)
    let group = GroupTask<any Error>(tasks: [member])
    queue.addTask(group)
    #expect(await eventually { group.isExecuting })
    member.cancel()
    #expect(await group.outcome() == .cancelled)
  }

  @Test func `the group of any error passes on a member's internal error as an internal one`() async
  {
    let queue = TaskQueue()
    let unmet = succeeding(1).addCondition(Unmet(error: .first))
    let group = GroupTask<any Error>(tasks: [unmet])
    let provided = GroupTask<any Error>(tasks: [failing() as Sample<Int>])
    queue.addTasks(group, provided)
    #expect(await group.outcome() == .conditions)
    #expect(await provided.outcome() == .provided)
  }

  // MARK: Conditions

  @Test func `a task that ends while it waits for a permit leaves the line and uses none`() async {
    let (queue, clock) = (TaskQueue(), ManualClock())
    let limiter = RateLimiter(permits: 1, per: .seconds(1), clock: clock)
    let tasks = (0..<3).map { _ in succeeding(1).addCondition(limiter) }
    queue.addAll(tasks)
    #expect(await eventually { limiter.waitingCount == 2 })
    tasks[1].finish(with: .success(2))
    #expect(await eventually { limiter.waitingCount == 1 })
    #expect(await eventually { clock.sleeping > 0 })
    clock.advance(by: .seconds(1))
    #expect(await tasks[2].outcome() == .success)
  }

  // MARK: Blocked threads

  /// Blocks the threads of the global queues for a minute.
  private static func blockGlobalQueues() {
    for quality in [DispatchQoS.QoSClass.default, .userInitiated, .utility] {
      for _ in 0..<64 {
        DispatchQueue.global(qos: quality).async { Thread.sleep(forTimeInterval: 60) }
      }
    }
  }

  #if os(Linux) || os(macOS)
    @Test func `a task is added later although the threads of the global queues block`() async {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          let own = DispatchQueue(label: "own")
          let queue = TaskQueue(underlyingQueue: own)
          let task: Sample<Int> = succeeding(1)
          Self.blockGlobalQueues()
          queue.addTaskAfter(task, deadline: .now() + .milliseconds(20))
          return (try? task.wait(timeout: .seconds(20))) == 1
        }
      }
    }
  #endif

  // MARK: Describing

  @Test func `the description of a queue has the members of groups, and their waits`() async {
    let (queue, gate) = (TaskQueue(name: "work"), Promise<Int>())
    let (first, second) = (succeeding(1) as Sample<Int>, succeeding(2) as Sample<Int>)
    first.name = "first"
    second.name = "second"
    gate.name = "gate"
    first.addDependency(gate)
    second.addDependency(first)
    let inner = GroupTask<TestError>(name: "inner", tasks: [first, second])
    let outer = GroupTask<TestError>(name: "outer", tasks: [inner])
    queue.addTask(outer)
    #expect(await eventually { second.debugDescription.contains("waiting for first") })
    #expect(
      queue.debugDescription.split(separator: "\n").map(String.init) == [
        #"TaskQueue "work" (tasks: 1)"#, "  \(outer.debugDescription)",
        "    \(inner.debugDescription)", "      \(first.debugDescription)",
        "      \(second.debugDescription)",
      ])
    #expect(first.debugDescription.contains("waiting for gate"))
    gate.succeed(with: 1)
    #expect(await outer.outcome() == .success)
  }

  @Test func `a group whose members have not begun is described with them`() async {
    let (queue, gate) = (TaskQueue(name: "work"), Promise<Int>())
    let member: Sample<Int> = succeeding(1)
    let group = GroupTask<TestError>(name: "group", tasks: [member])
    group.addDependency(gate)
    queue.addTask(group)
    #expect(queue.debugDescription.hasSuffix("    \(member.debugDescription)"))
    gate.succeed(with: 1)
    #expect(await group.outcome() == .success)
  }

  // MARK: Members

  @Test func `a member that is released when it has ended is not confused with a new member`()
    async
  {
    // Made where nothing keeps the members.
    @Sendable func makeMember(_ number: Int) -> BlockProducerTask<Int, TestError> {
      BlockProducerTask { task throws(TestError) in
        task.produce(new: AsyncBlockTask<TestError> { _ in await Task.yield() })
        return number
      }
    }
    func makeGroup() -> GroupProducerTask<Int, TestError> {
      let decisive = makeMember(1)
      return GroupProducerTask(
        tasks: [decisive, makeMember(2), makeMember(3)], produced: decisive)
    }
    for _ in 0..<300 {
      let group = makeGroup()
      TaskQueue(maxConcurrentTaskCount: 1).addTask(group)
      #expect(await group.outcome() == .success)
      #expect(group.success == 1)
    }
  }
}
