import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("The end of a barrier", .timeLimit(.minutes(5)), .oneAtATime)
struct BarrierEndTests {
  enum Newcomer: CaseIterable { case task, block }

  @Test(
    "What comes while a barrier lets 20,000 tasks begin runs after them",
    arguments: Newcomer.allCases)
  func newcomers(_ newcomer: Newcomer) async {
    // With one slot, nothing begins before the barrier has let everything go.
    let queue = TaskQueue(maxConcurrentTaskCount: 2)
    let (count, seen, over) = (Counter(), Box(0), Event())
    let go = Event()
    queue.addBarrierBlock { go.wait() }
    let late = Sample<Int> { _, finish in
      seen.value = count.value
      over.signal()
      finish(.success(1))
    }
    queue.addTask(
      Sample<Int> { _, finish in
        switch newcomer {
        case .task: queue.addTask(late)
        case .block:
          queue.addBlock {
            seen.value = count.value
            over.signal()
          }
        }
        count.add()
        finish(.success(1))
      })
    for _ in 1..<20_000 {
      queue.addTask(
        Sample<Int> { _, finish in
          count.add()
          finish(.success(1))
        })
    }
    go.signal()
    #expect(await over.opened())
    #expect(seen.value >= 20_000 - 2)
    await queue.finished()
  }

  @Test("A barrier follows a barrier, and more comes meanwhile: each runs between the others")
  func barriers() async {
    let queue = TaskQueue()
    let (log, go) = (Log<Int>(), Event())
    queue.addBarrierBlock { go.wait() }
    for round in 0..<200 {
      for _ in 0..<10 {
        queue.addTask(
          Sample<Int> { _, finish in
            log.append(2 * round)
            finish(.success(1))
          })
      }
      queue.addBarrierBlock { log.append(2 * round + 1) }
      if round == 100 { go.signal() }
    }
    await queue.finished()
    #expect(log.count == 200 * 11)
    #expect(log.entries == log.entries.sorted())
  }

  @Test("A handler of what a barrier lets go adds a task and waits for it: the wait ends")
  func waitInAHandler() async {
    let queue = TaskQueue()
    let (go, waited) = (Event(), Event())
    queue.addBarrierBlock { go.wait() }
    // It passes on without a slot, where the barrier ends.
    let ready: ProducerTask<Int, TestError> = Tasks.just(1)
    let passing = ready.mapError { $0 }
    passing.receive { _ in
      let next: Sample<Int> = succeeding(1)
      queue.addTask(next)
      if (try? next.wait(timeout: Event.patience)) == 1 { waited.signal() }
    }
    queue.addTask(passing)
    go.signal()
    #expect(await waited.opened())
  }

  @Test("A barrier block waits for a closure of the queue that still waits for its dependency")
  func memberInFront() async {
    let (queue, dependency, log) = (TaskQueue(), Promise<Int>(), Log<String>())
    let member = queue.run(after: [dependency]) { () async in log.append("member") }
    let task = Sample<Int> { _, finish in
      log.append("task")
      finish(.success(1))
    }
    task.addDependency(member)
    queue.addTask(task)
    queue.addBarrierBlock { log.append("barrier") }
    dependency.succeed(with: 1)
    #expect(await task.outcome() == .success)
    await queue.finished()
    #expect(log.entries == ["member", "task", "barrier"])
  }

  @Test("A barrier block does not wait for futures that join the queue behind it, however many")
  func membersBehind() async throws {
    let (queue, ran) = (TaskQueue(), Event())
    let before = (0..<20).map { _ in Promise<Int>() }
    for promise in before { try queue.addFuture(promise) }
    let behind = Promise<Int>()
    queue.addBarrierBlock {
      behind.succeed(with: 1)
      ran.signal()
    }
    try queue.addFuture(behind)
    for promise in before { promise.succeed(with: 1) }
    #expect(await ran.opened())
    #expect(await eventually { queue.operationCount == 0 })
  }
}
