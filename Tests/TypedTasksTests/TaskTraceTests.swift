import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Traces of tasks", .timeLimit(.minutes(5)), .alone)
struct TaskTraceTests {
  private typealias Block = BlockProducerTask<Int, TestError>

  private func slices(_ recorder: TraceRecorder) throws -> [TraceEvent] {
    try TraceEvent.all(in: recorder.json).filter {
      $0.category == "task" && $0.arguments["createdAt"]?.contains("TaskTraceTests") == true
    }
  }

  @Test func `a task lasts until it settles, and says how it ended`() async throws {
    let queue = TaskQueue(name: "work")
    let recorder = TraceRecorder()
    recorder.start()
    let (begun, gate) = (Event(), Promise<Int>())
    let slow = Block { _, finish in
      begun.signal()
      gate.onSuccess(on: .inline) { finish(.success($0)) }
    }
    slow.name = "slow"
    let failing = Block { _, finish in finish(.failure(.provided(TestError.first))) }
    failing.name = "failing"
    queue.addTasks(slow, failing)
    #expect(await begun.opened())
    _ = await failing.completion
    #expect(try slices(recorder).map(\.name).sorted() == ["failing", "slow"])
    #expect(try slices(recorder).first { $0.name == "slow" }?.arguments["state"] == "executing")
    gate.succeed(with: 1)
    #expect(try await slow.value == 1)
    recorder.stop()
    let states = try slices(recorder).map { "\($0.name) \($0.arguments["state"] ?? "")" }
    #expect(states.sorted() == ["failing failed", "slow succeeded"])
    let rows = try TraceEvent.all(in: recorder.json).compactMap { $0.arguments["name"] }
    #expect(rows.contains("Tasks") && rows.contains("the operation queue \"work\""))
  }

  @Test func `a task that executes when the recorder stops is kept as executing`() async throws {
    let queue = TaskQueue()
    let recorder = TraceRecorder()
    let (begun, gate) = (Event(), Promise<Int>())
    let task = Block { _, finish in
      begun.signal()
      gate.onSuccess(on: .inline) { finish(.success($0)) }
    }
    recorder.start()
    queue.addTask(task)
    #expect(await begun.opened())
    recorder.stop()
    gate.succeed(with: 1)
    _ = try await task.value
    #expect(try slices(recorder).map { $0.arguments["state"] } == ["executing"])
  }

  @Test func `each attempt of a retry is a task, and a cancelled one says so`() async throws {
    let queue = TaskQueue()
    let recorder = TraceRecorder()
    recorder.start()
    let retried = Block { _, finish in finish(.failure(.provided(TestError.first))) }.retry(
      attempts: 3
    ) { attempt in
      Block { _, finish in finish(attempt == 3 ? .success(3) : .failure(.provided(TestError.first)))
      }
    }
    queue.addTask(retried)
    #expect(try await retried.value == 3)
    let (begun, cancelled) = (Event(), Event())
    let endless = Block { _, _ in
      begun.signal()
      cancelled.wait()
    }
    queue.addTask(endless)
    #expect(await begun.opened())
    endless.cancel()
    cancelled.signal()
    _ = await endless.completion
    recorder.stop()
    let states = try slices(recorder).map { $0.arguments["state"] ?? "" }
    #expect(states == ["failed", "failed", "succeeded", "cancelled"])
  }

  @Test func `a task that never began is not recorded`() async throws {
    let queue = TaskQueue(startSuspended: true)
    let recorder = TraceRecorder()
    recorder.start()
    let task = Block { _, finish in finish(.success(1)) }
    queue.addTask(task)
    task.cancel()
    _ = await task.completion
    recorder.stop()
    #expect(try slices(recorder).isEmpty)
    queue.isSuspended = false
  }

  @Test("A recorder that stops while a task begins shows no task that executes for ever")
  func stopsMeanwhile() async {
    let queue = TaskQueue()
    let isComplete = await RaceHarness(threads: 2, rounds: 300).run { _ in
      let recorder = TraceRecorder()
      recorder.start()
      return recorder
    } act: { recorder, thread in
      if thread == 0 {
        let task = BlockProducerTask<Int, TestError> { _ throws(TestError) in 1 }
        queue.addTask(task)
        _ = try? task.wait()
      } else {
        recorder.stop()
      }
    } check: { recorder, round in
      // A task that is shown as executing until now has another end each time.
      #expect(recorder.json == recorder.json, "round \(round)")
    }
    #expect(isComplete)
  }
}
