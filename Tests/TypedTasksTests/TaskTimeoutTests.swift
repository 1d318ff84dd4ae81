import Foundation
import Futures
import FuturesTestSupport
import TestSupport
import Testing
import TypedTasks

@Suite("Timeouts of tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct TaskTimeoutTests {
  private let queue = TaskQueue(maxConcurrentTaskCount: 4)

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

  @Test(
    "65. A timeout ends work that blocks its thread, also when there is no time at all",
    arguments: [Duration.zero, .nanoseconds(1), .milliseconds(30)])
  func timeoutOfBlockingWork(limit: Duration) async {
    let release = Event()
    defer { release.signal() }
    // As the first task of its thread, and right after another one.
    for upstream in [nil, succeeding(1)] {
      let task = Sample<Int> { _, finish in release.wait() }
        .addObserver(Observers.Timeout(limit))
      if let upstream {
        task.addDependency(upstream)
        queue.addTask(upstream)
      }
      queue.addTask(task)
      _ = await task.completion
      #expect(task.kind == .timeout)
    }
  }

  @Test("65. Work that asks whether it is cancelled learns of a timeout")
  func timeoutOfPollingWork() async {
    let (begun, hasReturned, clock) = (Event(), Event(), ManualClock())
    let task = Sample<Int> { task, _ in
      begun.signal()
      while !task.isCancelled { usleep(1000) }
      hasReturned.signal()
    }
    .addObserver(Observers.Timeout(.milliseconds(30), clock: clock))
    queue.addTask(task)
    #expect(await eventually { begun.isOpen && clock.sleeping == 1 })
    clock.advance(by: .milliseconds(30))
    _ = await task.completion
    #expect(await hasReturned.opened())
    #expect(task.kind == .timeout)
  }

  @Test("65. Work that returns when it is asked to cancel, of whatever kind, has timed out")
  func timeoutOfObedientWork() async {
    let limit = Observers.Timeout(.milliseconds(20))
    let tasks: [ProducerTask<Int, TestError>] = (0..<20).map { _ in
      Sample<Int> { task, _ in while !task.isCancelled {} }.addObserver(limit)
    }
    let sleeping = AsyncBlockProducerTask<Int, any Error> { _ in
      try await Task.sleep(for: .seconds(1000))
      return 1
    }
    .addObserver(limit)
    let group = GroupProducerTask<Int, TestError>(
      tasks: [Sample<Int> { task, _ in while !task.isCancelled { usleep(100) } }]
    ).addObserver(limit)
    queue.addTask(sleeping)
    queue.addTask(group)
    for task in tasks { queue.addTask(task) }
    for task in tasks {
      _ = await task.completion
      #expect(task.kind == .timeout)
    }
    _ = await sleeping.completion
    #expect(sleeping.kind == .timeout)
    _ = await group.completion
    #expect(group.kind == .timeout)
  }

  @Test func `a timeout that is added twice to one task runs one clock, and lets go of it`() async {
    for isInTime in [true, false] {
      let (queue, clock, task) = (TaskQueue(), ManualClock(), Manual<Int>())
      let timeout = Observers.Timeout(.seconds(1), clock: clock)
      task.addObserver(timeout)
      task.addObserver(timeout)
      queue.addTask(task)
      #expect(await task.started.opened())
      #expect(await eventually { clock.sleeping > 0 })
      if isInTime { task.finish(with: .success(1)) } else { clock.advance(by: .seconds(1)) }
      #expect(await task.outcome() == (isInTime ? .success : .timeout))
      #expect(await eventually { clock.sleeping == 0 })
    }
  }
}
