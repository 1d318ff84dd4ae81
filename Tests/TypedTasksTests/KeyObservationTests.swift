#if canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN

  import Foundation
  import Futures
  import TestSupport
  import Testing
  import TypedTasks

  /// What key-value observers hear of a typed task: see `TypedTasks+Darwin.swift`.
  @Suite("Key-value observation of typed tasks", .timeLimit(.minutes(5)), .oneAtATime)
  struct KeyObservationTests {
    @Test("As on Apple's platforms, a task runs in a task queue: ready, executing, finished")
    func runs() async {
      let queue = TaskQueue(startSuspended: true)
      let task = Manual<Int>()
      let recorder = KeyRecorder(of: task)
      queue.addTask(task)
      #expect(recorder.values(of: "isReady").last == true)
      #expect(recorder.values(of: "isExecuting") == [])
      queue.isSuspended = false
      await task.started.opened()
      #expect(recorder.entries.suffix(2) == ["will isExecuting: false", "did isExecuting: true"])
      task.finish(with: .success(1))
      #expect(
        recorder.entries.suffix(4) == [
          "will isFinished: false", "will isExecuting: true", "did isExecuting: false",
          "did isFinished: true",
        ])
      #expect(recorder.mistakes.isEmpty)
      recorder.stop()
    }

    @Test("A task waits for a dependency: it is ready when that has finished, and not before")
    func dependency() async {
      let queue = TaskQueue(startSuspended: true)
      let gate = Promise<Int>()
      let task = Manual<Int>()
      task.addDependency(gate)
      queue.addTask(task)
      let recorder = KeyRecorder(of: task)
      #expect(recorder.entries == [])
      gate.succeed(with: 1)
      #expect(recorder.entries == ["will isReady: false", "did isReady: true"])
      #expect(recorder.mistakes.isEmpty)
      recorder.stop()
      task.cancel()
      queue.isSuspended = false
    }

    @Test("Cancelled while it executes: cancelled at once, finished when the work finishes")
    func cancelledWhileExecuting() async {
      let queue = TaskQueue()
      let task = Manual<Int>()
      queue.addTask(task)
      await task.started.opened()
      let recorder = KeyRecorder(of: task)
      task.cancel()
      task.cancel()
      #expect(recorder.entries == ["will isCancelled: false", "did isCancelled: true"])
      task.finish(with: .success(2))
      #expect(
        recorder.entries.suffix(4) == [
          "will isFinished: false", "will isExecuting: true", "did isExecuting: false",
          "did isFinished: true",
        ])
      #expect(recorder.mistakes.isEmpty)
      recorder.stop()
    }

    @Test("Cancelled before it executes: cancelled and finished")
    func cancelledBefore() async {
      let task = Manual<Int>()
      let recorder = KeyRecorder(of: task)
      task.cancel()
      #expect(recorder.values(of: "isCancelled") == [true])
      #expect(recorder.values(of: "isFinished") == [true])
      #expect(recorder.values(of: "isExecuting") == [])
      #expect(recorder.mistakes.isEmpty)
      recorder.stop()
    }

    @Test("In a plain queue: ready, executing, and finished when the queue has started it")
    func plainQueue() async {
      let queue = OperationQueue()
      let task = Manual<Int>()
      let recorder = KeyRecorder(of: task)
      queue.addOperation(task)
      await task.started.opened()
      task.finish(with: .success(1))
      #expect(await eventually { recorder.values(of: "isFinished") == [true] })
      #expect(recorder.values(of: "isExecuting") == [true, false])
      #expect(recorder.mistakes.isEmpty)
      recorder.stop()
    }

    @Test("An observer of the start cancels the task: every pair is ended, nothing hangs")
    func observerCancels() async {
      let queue = TaskQueue()
      let task = Manual<Int>()
      let recorder = KeyRecorder(of: task) { [weak task] entry in
        if entry == "will isExecuting: false" { task?.cancel() }
      }
      queue.addTask(task)
      #expect(await task.outcome() == .cancelled)
      #expect(await eventually { recorder.mistakes.isEmpty && task.isFinished })
      recorder.stop()
    }
  }

#endif
