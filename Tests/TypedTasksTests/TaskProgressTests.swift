import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Progress of tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct TaskProgressTests {
  @Test func `a task reports: it, futures made from it and a Progress follow`() async {
    let (begun, goOn) = (Event(), Event())
    let task = BlockProducerTask<Int, TestError> { task, finish in
      task.report(completed: 1, of: 4)
      begun.signal()
      goOn.wait()
      finish(.success(1))
    }
    let end = task.mapToValue(on: .inline) { $0 }
    let progress = end.makeProgress()
    let queue = TaskQueue()
    queue.addTask(task)
    #expect(await begun.opened())
    #expect(task.currentProgress.completed == 1 && end.currentProgress.total == 4)
    #expect(progress.fractionCompleted == 0.25)
    goOn.signal()
    _ = await end.completion
    #expect(task.currentProgress.fractionCompleted == 1)
    // The thread that settles goes on while this task does.
    #expect(await eventually { progress.isFinished })
    task.report(completed: 1, of: 8)
    #expect(task.currentProgress.fractionCompleted == 1)
  }

  @Test func `updates of a task end with 1, and with nothing after a failure`() async {
    for succeeds in [true, false] {
      let task = BlockProducerTask<Int, TestError> { task, finish in
        task.report(completed: 3, of: 3)
        finish(succeeds ? .success(1) : .failure(.provided(.first)))
      }
      let queue = TaskQueue()
      queue.isSuspended = true
      queue.addTask(task)
      var updates = task.progressUpdates.makeAsyncIterator()
      #expect(await updates.next()?.isIndeterminate == true)
      queue.isSuspended = false
      var last: FutureProgress?
      while let next = await updates.next() { last = next }
      if succeeds { #expect(last?.fractionCompleted == 1) }
      _ = await task.completion
    }
  }

  @Test func `a cancelled task is indeterminate`() {
    let task = BlockProducerTask<Int, TestError> { _, finish in finish(.success(1)) }
    task.report(completed: 1, of: 2)
    #expect(task.currentProgress.fractionCompleted == 0.5)
    task.cancel()
    #expect(task.currentProgress.isIndeterminate)
  }
}
