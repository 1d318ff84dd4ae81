import Foundation
import TestSupport
import Testing

@testable import TypedTasks

@Suite("Tasks that a queue does not take", .timeLimit(.minutes(5)), .oneAtATime)
struct QueueRejectionTests {
  private final class Delegate: TaskQueueDelegate {
    let rejected = Counter()

    func taskQueue<T: ProducerTaskProtocol>(
      _ queue: TaskQueue, didReject task: T, error: ProducerTaskError
    ) { rejected.add() }
  }

  @Test("A task that another thread is cancelling is added: no mistake, as after the cancellation")
  func whileItIsCancelled() async {
    let (queue, delegate) = (TaskQueue(), Delegate())
    queue.delegate = delegate
    let task: Sample<Int> = succeeding(1)
    // The first step of a cancellation; the next one settles the task.
    let core = task.taskCore
    let step = core?.state.withLock { $0.machine.cancel(settlesAtOnce: false) }
    #expect(step == .settle)
    queue.addTask(task)
    #expect(delegate.rejected.value == 0)
    core?.fail(task, ProducerTaskError.cancelled)
    queue.addTask(task)
    #expect(delegate.rejected.value == 0)
    #expect(await task.outcome() == .cancelled)
  }

  @Test("A task that has finished in a queue is added again: the delegate is told")
  func afterItsEnd() async {
    let (queue, delegate) = (TaskQueue(), Delegate())
    queue.delegate = delegate
    let task: Sample<Int> = succeeding(1)
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    queue.addTask(task)
    #expect(delegate.rejected.value == 1)
  }
}
