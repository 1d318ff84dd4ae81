import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing
import TypedTasks

@Suite("Waits in the handlers of a cancellation", .timeLimit(.minutes(5)), .oneAtATime)
struct WaitingWhileCancellingTests {
  private let queue = TaskQueue()
  private let answers = Log<String>()

  /// A task that executes until it is asked to cancel, and then succeeds.
  private func obedient(_ begun: Event) -> Sample<Int> {
    Sample { task, finish in
      begun.signal()
      _ = eventuallyBlocking { task.isCancelled }
      finish(.success(1))
    }
  }

  /// Waits for a task, and notes how the wait ends.
  private static func wait(for task: Sample<Int>, _ answers: Log<String>) {
    do {
      _ = try task.wait(timeout: Event.patience)
      answers.append("value")
    } catch ProperationsError.cycle {
      answers.append("cycle")
    } catch { answers.append("\(error)") }
  }

  @Test(
    "A handler of a cancellation waits for the task, before or after it has settled: refused",
    arguments: [false, true])
  func handler(isSettled: Bool) async {
    let begun = Event()
    let task = obedient(begun)
    task.onCancellationRequest { [unowned task, answers] in
      if isSettled { _ = eventuallyBlocking { task.produced != nil } }
      Self.wait(for: task, answers)
    }
    queue.addTask(task)
    #expect(await begun.opened())
    task.cancel()
    #expect(await task.outcome() == .success)
    #expect(answers.entries == ["cycle"])
  }

  private struct Waiting: TaskObserver {
    let answers: Log<String>

    func taskDidCancel<T: ProducerTaskProtocol>(_ task: T) {
      guard let task = task as? Sample<Int> else { return }
      WaitingWhileCancellingTests.wait(for: task, answers)
    }
  }

  @Test("A task that has its result, and whose closure goes on, is cancelled: nothing changes")
  func afterTheResult() async {
    let (goOn, told) = (Event(), Counter())
    let task = Sample<Int> { _, finish in
      finish(.success(1))
      goOn.wait()
    }
    task.onCancellationRequest { told.add() }
    queue.addTask(task)
    #expect(await eventually { task.isFulfilled })
    task.cancel()
    queue.cancelAllTasks()
    #expect(!task.isCancelled)
    goOn.signal()
    #expect(await task.outcome() == .success)
    #expect(told.value == 0)
  }

  @Test("An observer of the cancellation by a timeout waits for the task: refused, the task ends")
  func timeout() async {
    let (begun, go, clock) = (Event(), Event(), ManualClock())
    let task = Sample<Int> { _, finish in
      begun.signal()
      go.wait()
      finish(.success(1))
    }
    task.addObserver(Waiting(answers: answers))
    task.addObserver(Observers.Timeout(.milliseconds(10), clock: clock))
    queue.addTask(task)
    #expect(await begun.opened())
    #expect(await eventually { clock.sleeping == 1 })
    clock.advance(by: .milliseconds(10))
    #expect(await task.outcome() == .timeout)
    #expect(answers.entries == ["cycle"])
    go.signal()
    await queue.finished()
  }

  @Test("A handler of a cancellation waits for what the task does not need: the wait ends")
  func another() async {
    let (begun, other): (Event, Sample<Int>) = (Event(), succeeding(2))
    let task = obedient(begun)
    task.onCancellationRequest { [answers] in Self.wait(for: other, answers) }
    queue.addTask(task)
    #expect(await begun.opened())
    queue.addTask(other)
    task.cancel()
    #expect(await task.outcome() == .success)
    #expect(answers.entries == ["value"])
  }

  @Test("A handler of a future in a scope waits for a task of the scope: both are cancelled")
  func handlerInAScopeWaitsForATask() async throws {
    let (scope, promise, task) = (CancellationScope(), Promise<Int>(), Manual<Int>())
    let hasWaited = Event()
    promise.onCancel(on: .inline) {
      _ = try? task.wait(timeout: Event.patience)
      if task.isSettled { hasWaited.signal() }
    }
    promise.cancelled(by: scope)
    task.cancelled(by: scope)
    let gate = Promise<Void>()
    TaskQueue().addTask(task.addDependency(gate))
    Thread { scope.cancel() }.start()
    #expect(await hasWaited.opened())
    withExtendedLifetime(gate) {}
  }
}
