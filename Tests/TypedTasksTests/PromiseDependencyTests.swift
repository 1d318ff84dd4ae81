import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

/// Typed tasks that depend directly on promises, and on futures that are no tasks.
@Suite("Tasks that depend on promises", .timeLimit(.minutes(5)), .oneAtATime)
struct PromiseDependencyTests {
  private let queue = TaskQueue()

  private func quick() -> ProducerTask<Int, TestError> {
    Sample<Int>(name: "quick") { _, finish in finish(.success(1)) }
  }

  @Test(
    "a promise that is dropped counts as finished, whether the task is in a queue or not",
    .guarantee(5), arguments: ["before", "after", "in the queue"])
  func dropped(_ moment: String) async {
    let task = quick()
    var promise: Promise<Int>? = Promises.make(promising: Int.self)
    if moment == "in the queue" {
      let gate = Promises.make(promising: Void.self)
      task.addDependency(gate)
      queue.addTask(task)
      task.addDependency(promise!)
      gate.succeed()
    } else {
      task.addDependency(promise!)
    }
    if moment == "before" { promise = nil }
    if moment != "in the queue" { queue.addTask(task) }
    if moment != "before" {
      #expect(task.dependencies.count >= 1 && !task.isFinished)
      promise = nil
    }
    #expect(await task.completion.successValue == 1)
    #expect(promise == nil && task.dependencies.isEmpty)
  }

  @Test("a promise that is dropped beside a pending one: the task waits for the pending one")
  func droppedBesidePending() async {
    let task = quick()
    let pending = Promises.make(promising: Int.self)
    var dropped: Promise<Int>? = Promises.make(promising: Int.self)
    task.addDependency(dropped!)
    task.addDependency(pending)
    queue.addTask(task)
    dropped = nil
    #expect(dropped == nil && task.dependencies == [pending] && !task.isFinished)
    pending.succeed(with: 2)
    #expect(await task.completion.successValue == 1)
  }

  @Test("a promise that is taken away again no longer holds the task, and may be dropped")
  func removed() async {
    let task = quick()
    let (first, second) = (Promises.make(promising: Int.self), Promises.make(promising: Int.self))
    task.addDependency(first)
    task.removeDependency(first)
    #expect(task.dependencies.isEmpty)
    task.addDependency(first)
    task.addDependency(second)
    queue.addTask(task)
    task.removeDependency(second)
    #expect(task.dependencies == [first] && !task.isFinished)
    task.removeDependency(first)
    #expect(await task.completion.successValue == 1)
  }

  @Test("a settled promise is among the dependencies until the task ends, whoever drops it")
  func settledIsKept() {
    let task = quick()
    var promises: [Promise<Int>] = (0..<3).map { _ in Promises.make(promising: Int.self) }
    promises[2].succeed(with: 1)
    for promise in promises { task.addDependency(promise) }
    promises[0].succeed(with: 1)
    promises[1].cancel()
    promises = []
    #expect(task.dependencies.map(\.isCancelled) == [false, true, false])
  }

  @Test(
    "a cancelled promise that nobody else holds is seen by a condition", arguments: [true, false])
  func cancelledIsSeen(_ isQueued: Bool) async {
    let task = quick().addCondition(Conditions.NoCancelledDependencies())
    var promise: Promise<Int>? = Promises.make(promising: Int.self)
    task.addDependency(promise!)
    if isQueued { queue.addTask(task) }
    promise?.cancel()
    promise = nil
    if !isQueued { queue.addTask(task) }
    _ = await task.completion
    guard case .failure(.internal(ProducerTaskError.conditionsFailure))? = task.produced else {
      Issue.record("\(String(describing: task.produced))")
      return
    }
  }

  @Test("a future that stands for a pending one holds the task, also when nobody holds it")
  func standIn() async {
    let task = quick()
    let inner = Promises.make(promising: Int.self)
    task.addDependency(Promises.makeSucceeded().mapToFuture(on: .inline) { inner })
    queue.addTask(task)
    #expect(!task.isFinished)
    inner.succeed(with: 1)
    #expect(await task.completion.successValue == 1)
  }

  @Test("a link of a chain holds the task, also when nobody holds the link")
  func link() async {
    let task = quick()
    let (promise, ran) = (Promises.make(promising: Int.self), Counter())
    task.addDependency(promise.mapToValue(on: .inline) { ran.add($0) })
    queue.addTask(task)
    #expect(!task.isFinished)
    promise.succeed(with: 5)
    #expect(await task.completion.successValue == 1 && ran.value == 5)
  }

  @Test("200 promises, a third settled, a third dropped, a third taken away: the task runs once")
  func many() async {
    let runs = Counter()
    let task = Sample<Int>(name: "task") { _, finish in
      runs.add()
      finish(.success(1))
    }
    var promises: [Promise<Int>?] = (0..<200).map { _ in Promises.make(promising: Int.self) }
    for promise in promises { task.addDependency(promise!) }
    queue.addTask(task)
    for index in promises.indices {
      #expect(!task.isFinished)
      switch index % 3 {
      case 0: promises[index]?.succeed(with: index)
      case 1: promises[index] = nil
      default: task.removeDependency(promises[index]!)
      }
    }
    #expect(await task.completion.successValue == 1)
    #expect(runs.value == 1)
  }

  @Test("2,000 promises that are dropped while another thread adds them: every task ends")
  func race() async {
    final class Pair: Sendable {
      let task = Sample<Int>(name: "task") { _, finish in finish(.success(1)) }
      let promise = TestLock(Promises.make(promising: Int.self) as Promise<Int>?)
    }
    let queue = queue
    let tasks = Log<ProducerTask<Int, TestError>>()
    let isDone = await RaceHarness(threads: 2, rounds: 2_000).run { _ in
      let pair = Pair()
      tasks.append(pair.task)
      return pair
    } act: { (pair: Pair, index: Int) in
      if index == 0 {
        if let promise = pair.promise.withLock({ $0 }) { pair.task.addDependency(promise) }
        queue.addTask(pair.task)
      } else {
        let dropped = pair.promise.withLock { promise in
          defer { promise = nil }
          return promise
        }
        withExtendedLifetime(dropped) {}
      }
    }
    #expect(isDone)
    for task in tasks.entries { _ = await task.completion }
  }

  @Test("tasks that are dropped leave nothing in a promise that they depended on")
  func nothingIsLeft() {
    let promise = Promises.make(promising: Int.self)
    let tracker = LifetimeTracker()
    for _ in 0..<100 {
      let tracked = tracker.make()
      let task = Sample<Int>(name: "task") { _, finish in
        tracked.touch()
        finish(.success(1))
      }
      task.addDependency(promise)
    }
    #expect(tracker.alive == 0 && !promise.hasWaiters)
  }
}
