import Foundation
@testable import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("What a reading of the conditions of tasks found", .timeLimit(.minutes(5)), .oneAtATime)
struct ConditionFaultTests {
  private let queue = TaskQueue()

  /// An enqueued task whose condition has been asked, and the completion that it keeps.
  private func asked() async -> (
    task: Sample<Int>, kept: Box<(@Sendable (Result<Void, any Error>) -> Void)?>
  ) {
    let kept = Box<(@Sendable (Result<Void, any Error>) -> Void)?>(nil)
    let asked = Event()
    let task: Sample<Int> = succeeding(1)
    task.addCondition(
      BlockCondition { _, completion in
        kept.value = completion
        asked.signal()
      })
    queue.addTask(task)
    await asked.opened()
    return (task, kept)
  }

  @Test("A condition that releases its completion without an answer fails its task, which says so")
  func releasedCompletion() async {
    let task: Sample<Int> = succeeding(1)
    task.name = "unanswered"
    task.addCondition(BlockCondition { _, _ in })
    task.addCondition(Conditions.Empty())
    queue.addTask(task)
    #expect(await task.outcome() == .conditions)
    guard case .failure(.internal(let error)) = task.produced,
      case .conditionsFailure(let errors)? = error as? ProducerTaskError,
      case .unfinished(let name, _)? = errors.first as? ProducerTaskError
    else {
      Issue.record("\(String(describing: task.produced))")
      return
    }
    #expect(errors.count == 1)
    #expect(name == "unanswered")
  }

  @Test("A condition of a stage that has answered, and blocks: the stage gets the value above it")
  func answeredAndBlocking() async {
    let (goOn, answered) = (Promise<Int>(), Event())
    let source: Sample<Int> = succeeding(20)
    let stage = source.map { $0 + 1 }
    stage.addCondition(
      BlockCondition { _, completion in
        Thread.detachNewThread {
          // (When the thread of the condition blocks.)
          _ = eventuallyBlocking { goOn.storage.hasWaiters }
          completion(.success(()))
          answered.signal()
        }
        _ = try? goOn.wait(timeout: Event.patience)
      })
    queue.addTask(stage)
    #expect(await answered.opened())
    _ = await stage.completion
    #expect(stage.success == 21)
    goOn.succeed(with: 1)
  }

  @Test("A condition that keeps its completion is waited for; one that has answered is done")
  func keptCompletion() async {
    let (task, kept) = await asked()
    #expect(!task.isFulfilled)
    kept.value?(.success)
    kept.value = nil
    #expect(await task.outcome() == .success)
  }

  @Test("A task that is cancelled before its condition has released the completion is cancelled")
  func cancelledBeforeRelease() async {
    let (task, kept) = await asked()
    task.cancel()
    kept.value = nil
    #expect(await task.outcome() == .cancelled)
  }

  @Test(
    "A condition that waits for its own task, or for one that waits for it, gets the cycle",
    arguments: [true, false])
  func ownTask(_ isOwn: Bool) async {
    let upstream: Sample<Int> = succeeding(1)
    let stage = upstream.map { $0 + 1 }
    let below = stage.map { $0 + 1 }
    let thrown = Box<(any Error)?>(nil)
    let isAdded = Event()
    stage.addCondition(
      BlockCondition { _ in
        // (A task that closes the cycle when it is added gets the error itself.)
        isAdded.wait()
        do {
          try (isOwn ? stage : below).wait(timeout: .seconds(10))
        } catch {
          thrown.value = error
        }
        return true
      })
    queue.addTask(below)
    isAdded.signal()
    #expect(await below.outcome() == .success)
    #expect(below.success == 3)
    guard case .cycle = thrown.value as? ProperationsError else {
      Issue.record("\(String(describing: thrown.value))")
      return
    }
  }
}
