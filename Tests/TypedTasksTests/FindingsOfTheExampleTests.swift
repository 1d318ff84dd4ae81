import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

private enum Folder {}

/// What Examples/MediaIngest needs of the library, and first did not get.
@Suite("Findings of the example", .timeLimit(.minutes(5)), .oneAtATime)
struct FindingsOfTheExampleTests {
  private let queue = TaskQueue(maxConcurrentTaskCount: 4)

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

  @Test("57. Tasks of one type exclude each other only for the same key")
  func keys() async {
    let (a, b, other) = (Manual<Int>(), Manual<Int>(), Manual<Int>())
    let plain = Manual<Int>()
    a.addCondition(Conditions.MutuallyExclusive(Folder.self, key: "x"))
    b.addCondition(AnyCondition(Conditions.MutuallyExclusive(Folder.self, key: "x")))
    other.addCondition(Conditions.MutuallyExclusive(Folder.self, key: "y"))
    plain.addCondition(Conditions.MutuallyExclusive(Folder.self))
    for task in [a, b, other, plain] { queue.addTask(task) }
    for task in [a, other, plain] { #expect(await task.started.opened()) }
    #expect(!b.isExecuting)
    a.finish(with: .success(1))
    #expect(await b.started.opened())
    for task in [b, other, plain] { task.finish(with: .success(1)) }
  }

  @Test("58. Categories are told apart by type and key, and say which they are")
  func categories() {
    #expect(TaskCategory(Folder.self, key: "x") == TaskCategory(Folder.self, key: "x"))
    #expect(TaskCategory(Folder.self, key: "x") != TaskCategory(Folder.self, key: "y"))
    #expect(TaskCategory(Folder.self, key: "x") != TaskCategory(Folder.self))
    #expect(TaskCategory(Folder.self, key: "x") != TaskCategory(Int.self, key: "x"))
    #expect(TaskCategory(Folder.self, key: "x").description == "Folder(x)")
    #expect(TaskCategory(Folder.self).description == "Folder")
  }

  @Test("104. A retry without hope ends with the error at once")
  func hopelessRetry() async {
    let (asked, made) = (Counter(), Counter())
    let task = failing(Int.self, with: .second)
      .retry(
        3, delay: .seconds(1000),
        if: {
          asked.add(); return $0 == .first
        }
      ) { _ in
        made.add()
        return succeeding(1)
      }
    queue.addTask(task)
    _ = await task.completion
    #expect(task.produced?.failure == .provided(.second))
    #expect(asked.value == 1)
    #expect(made.value == 0)
  }

  @Test("104. The delay of a retry holds back all of the chain that is made")
  func retryWithChain() async {
    let (made, executed) = (Counter(), Counter())
    let task = failing(Int.self).retry(1, delay: .seconds(1000)) { _ in
      made.add()
      return Sample<Int> { _, finish in
        executed.add()
        finish(.success(1))
      }
      .map { $0 }
    }
    queue.addTask(task)
    let slow = failing(Int.self).retry(1, delay: .milliseconds(50)) { _ in succeeding(2) }
    queue.addTask(slow)
    _ = await slow.completion
    #expect(slow.produced?.failure == nil)
    #expect((made.value, executed.value) == (0, 0))
    task.cancel()
    _ = await task.completion
    #expect(task.kind == .cancelled)
  }

  @Test("104. A retry goes on as long as there is hope")
  func hopefulRetry() async {
    let made = Counter()
    let task = failing(Int.self, with: .first)
      .retry(9, if: { $0 == .first }) { _ in
        made.add()
        return failing(Int.self, with: made.value < 3 ? .first : .second)
      }
    queue.addTask(task)
    _ = await task.completion
    #expect(task.produced?.failure == .provided(.second))
    #expect(made.value == 3)
  }
}

extension Result {
  fileprivate var failure: Failure? {
    guard case .failure(let error) = self else { return nil }
    return error
  }
}
