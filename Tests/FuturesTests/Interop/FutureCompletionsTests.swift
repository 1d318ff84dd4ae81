import Foundation
import Futures
import TestSupport
import Testing

@testable import Futures

@Suite("Promises.completions", .timeLimit(.minutes(5)), .oneAtATime)
struct FutureCompletionsTests {
  @Test func `results come in the order in which the futures settle`() async {
    let promises = (0..<4).map { _ in Promise<Int>() }
    let completions = Promises.completions(of: promises)
    promises[2].succeed(with: 20)
    promises[0].fail(with: TestError.first)
    promises[3].cancel()
    promises[1].succeed(with: 10)
    var indices: [Int] = []
    var values: [Int?] = []
    for await (index, result) in completions {
      indices.append(index)
      values.append(result.successValue)
    }
    #expect(indices == [2, 0, 3, 1])
    #expect(values == [20, nil, nil, 10])
  }

  @Test func `a task that iterates is woken by each result`() async {
    let promises = (0..<3).map { _ in Promise<Int>() }
    let seen = Log<Int>()
    let task = Task {
      for await (index, _) in Promises.completions(of: promises) { seen.append(index) }
    }
    for index in [1, 2, 0] {
      #expect(await eventually { promises[index].hasWaiters })
      promises[index].succeed(with: index)
      #expect(await eventually { seen.entries.last == index })
    }
    await task.value
    #expect(seen.entries == [1, 2, 0])
  }

  @Test func `no futures end it at once, and one that is there twice gives two results`() async {
    for await _ in Promises.completions(of: [Future<Int>]()) { Issue.record("a result") }
    let promise = Promise<Int>()
    let completions = Promises.completions(of: [promise, promise])
    promise.succeed(with: 1)
    var indices: [Int] = []
    for await (index, _) in completions { indices.append(index) }
    #expect(indices == [0, 1])
  }

  @Test func `a sequence that is iterated twice gives each result once`() async {
    let completions = Promises.completions(
      of: (0..<100).map { Promises.makeSucceeded(with: $0) })
    async let first = completions.reduce(0) { $0 + $1.index }
    async let second = completions.reduce(0) { $0 + $1.index }
    #expect(await first + second == 99 * 50)
    for await _ in completions { Issue.record("a result") }
  }

  @Test func `cancelling the task ends its iteration, and the futures go on`() async {
    let promises = (0..<2).map { _ in Promise<Int>() }
    let seen = Counter()
    let task = Task {
      for await _ in Promises.completions(of: promises) { seen.add() }
    }
    promises[0].succeed(with: 1)
    #expect(await eventually { seen.value == 1 })
    task.cancel()
    await task.value
    #expect(!promises[1].isFulfilled)
    #expect(!promises[1].hasWaiters)
  }

  @Test func `a task that is cancelled before it iterates gets nothing`() async {
    let completions = Promises.completions(of: [Promises.makeSucceeded(with: 1)])
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      var count = 0
      for await _ in completions { count += 1 }
      return count
    }
    task.cancel()
    #expect(await task.value == 0)
    var count = 0
    for await _ in completions { count += 1 }
    #expect(count == 1)
  }

  @Test func `leaving the loop early leaves the futures, and nothing is kept`() async {
    let tracker = LifetimeTracker()
    let promises = (0..<3).map { _ in Promise<Tracked>() }
    promises[1].succeed(with: tracker.make())
    for await (index, _) in Promises.completions(of: promises) {
      #expect(index == 1)
      break
    }
    #expect(!promises[0].hasWaiters && !promises[2].hasWaiters)
    #expect(!promises[0].isFulfilled)
    var completions: FutureCompletions<Tracked>? = Promises.completions(of: promises)
    promises[0].succeed(with: tracker.make())
    #expect(tracker.alive == 2)
    _ = promises[2]
    completions = nil
    #expect(completions == nil)
    #expect(!promises[2].hasWaiters)
  }

  @Test func `promises are not kept: one that is dropped gives its failure`() async {
    var promises: [Promise<Int>] = [Promise(), Promise()]
    let completions = Promises.completions(of: promises)
    let kept = promises[1]
    promises = []
    kept.succeed(with: 1)
    var results: [Int: FutureResult<Int>] = [:]
    for await (index, result) in completions { results[index] = result }
    #expect(results[1]?.successValue == 1)
    guard case .brokenPromise? = results[0]?.failureValue as? ProperationsError else {
      Issue.record("\(results)")
      return
    }
  }

  @Test func `it starts lazy futures, and moves on with a future that stands for another`() async {
    let promise = Promise<Int>()
    let futures = [
      Promises.lazy(on: .inline) { Promises.makeSucceeded(with: 1) },
      Promises.makeSucceeded().mapToFuture(on: .inline) { promise },
    ]
    let completions = Promises.completions(of: futures)
    promise.succeed(with: 2)
    var values: [Int?] = []
    for await (_, result) in completions { values.append(result.successValue) }
    #expect(values == [1, 2])
  }

  @Test func `100,000 futures that several threads settle`() async {
    let promises = (0..<100_000).map { _ in Promise<Int>() }
    let completions = Promises.completions(of: promises)
    let settling = Task.detached {
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        for index in stride(from: thread, to: promises.count, by: 8) {
          promises[index].succeed(with: index)
        }
      }
    }
    var sum = 0
    for await (index, result) in completions where result.successValue == index { sum += index }
    #expect(sum == 99_999 * 50_000)
    await settling.value
  }

  @Test func `cancelling the task races with results: none is lost`() async {
    for _ in 0..<500 {
      let promise = Promise<Int>()
      let completions = Promises.completions(of: [promise])
      let task = Task {
        for await _ in completions { return 1 }
        return 0
      }
      async let settled: Bool = promise.succeed(with: 1)
      task.cancel()
      _ = await settled
      let taken = await task.value
      var left = 0
      for await _ in completions { left += 1 }
      #expect(taken + left == 1)
    }
  }
}

@Suite("The queue of completions", .timeLimit(.minutes(5)), .oneAtATime)
struct CompletionQueueTests {
  private typealias Queue = CompletionQueue<Int, String>

  @Test func `takers that wait get results in their order, and the end when none is left`() {
    var queue = Queue()
    queue.expect(2)
    let ids = (0..<3).map { _ in queue.makeID() }
    for (id, name) in zip(ids, ["a", "b", "c"]) {
      guard case .wait = queue.take(id, name) else {
        Issue.record("\(name) does not wait")
        return
      }
    }
    #expect(queue.cancel(ids[1]) == "b")
    #expect(queue.add(1).map(\.taker) == ["a"])
    let last = queue.add(2)
    #expect(last.map(\.taker) == ["c"])
    #expect(last.map(\.element) == [2])
    guard case .end = queue.take(queue.makeID(), "d") else {
      Issue.record("no end")
      return
    }
  }

  @Test func `a taker that is cancelled before it comes gets nothing, and takes nothing`() {
    var queue = Queue()
    queue.expect(1)
    #expect(queue.add(1).isEmpty)
    let id = queue.makeID()
    #expect(queue.cancel(id) == nil)
    guard case .end = queue.take(id, "a"), case .element(1) = queue.take(queue.makeID(), "b")
    else {
      Issue.record("wrong")
      return
    }
  }

  @Test func `a result, and a taker that leaves, cost the same however many takers wait`() {
    func time(_ count: Int) -> Duration {
      var queue = CompletionQueue<Int, Int>()
      queue.expect(count + 1)
      let ids = (0..<count).map { _ in queue.makeID() }
      for id in ids { _ = queue.take(id, id) }
      return ContinuousClock().measure {
        for id in ids.reversed() where id.isMultiple(of: 2) { _ = queue.cancel(id) }
        for index in 0..<count / 2 { _ = queue.add(index) }
      }
    }
    // Sixteen times the takers. A search among all of them would take 256 times as long, each
    // time; a busy machine only sometimes.
    let isInProportion = (0..<10).contains { _ in
      let few = (0..<3).map { _ in time(4_000) }.min() ?? .zero
      let many = (0..<3).map { _ in time(64_000) }.min() ?? .zero
      return many < few * 64
    }
    #expect(isInProportion)
  }

  @Test func `the end reaches all who wait`() {
    var queue = Queue()
    queue.expect(1)
    for name in ["a", "b", "c"] { _ = queue.take(queue.makeID(), name) }
    let resumed = queue.add(1)
    #expect(resumed.map(\.taker) == ["a", "b", "c"])
    #expect(resumed.map(\.element) == [1, nil, nil])
  }
}
