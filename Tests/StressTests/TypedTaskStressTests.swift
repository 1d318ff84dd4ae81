import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

private enum A {}
private enum B {}
private enum C {}

/// Tasks with random dependencies, categories and conditions, in random queues,
/// cancelled at random from eight threads.
private struct RandomTasks {
  let tasks: [ProducerTask<Int, TestError>]
  let starts: [Counter]
  let ends: [Counter]
  let highest: [Counter]

  static func make(count: Int, using generator: inout SeededGenerator) -> RandomTasks {
    let starts = (0..<count).map { _ in Counter() }
    let ends = (0..<count).map { _ in Counter() }
    let running = (0..<3).map { _ in Counter() }
    var tasks: [ProducerTask<Int, TestError>] = []
    for index in 0..<count {
      let category = Int.random(in: 0..<8, using: &generator)
      let kind = Int.random(in: 0..<4, using: &generator)
      let task: ProducerTask<Int, TestError> = BlockProducerTask { _, finish in
        starts[index].add()
        if category < 3 { running[category].add() }
        let end: @Sendable () -> Void = {
          if category < 3 { running[category].add(-1) }
          finish(kind == 0 ? .failure(.provided(.numbered(index))) : .success(index))
        }
        if kind == 1 { DispatchQueue.global().async(execute: end) } else { end() }
      }
      switch category {
      case 0: task.addCondition(Conditions.MutuallyExclusive<A>())
      case 1: task.addCondition(Conditions.MutuallyExclusive<B>())
      case 2: task.addCondition(Conditions.MutuallyExclusive<C>())
      case 3: task.addCondition(BlockCondition { _ in kind != 2 })
      case 4:
        task.addCondition(
          BlockCondition(evaluate: { _, completion in
            DispatchQueue.global().async { completion(.success) }
          }))
      case 5: task.addCondition(Conditions.NoCancelledDependencies())
      default: break
      }
      if index > 0 {
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
          task.addDependency(tasks[Int.random(in: 0..<index, using: &generator)])
        }
      }
      let stage = kind == 3 ? task.map { $0 } : task
      stage.receive { _ in ends[index].add() }
      tasks.append(stage)
    }
    return RandomTasks(tasks: tasks, starts: starts, ends: ends, highest: running)
  }
}

@Suite("Typed tasks under stress", .timeLimit(.minutes(10)), .oneAtATime)
struct TypedTaskStressTests {
  private func run(seed: UInt64, count: Int) async {
    var generator = SeededGenerator(seed: seed)
    let random = RandomTasks.make(count: count, using: &generator)
    let queues = [
      TaskQueue(), TaskQueue(maxConcurrentTaskCount: 1), TaskQueue(maxConcurrentTaskCount: 3),
    ]
    var order = Array(0..<count)
    order.shuffle(using: &generator)
    let places = order.map { ($0, Int.random(in: 0..<3, using: &generator)) }
    let victims = (0..<count / 10).map { _ in Int.random(in: 0..<count, using: &generator) }
    let done = Event()
    let remaining = Counter()
    remaining.add(8)
    for thread in 0..<8 {
      Thread {
        for (position, (index, queue)) in places.enumerated() where position % 8 == thread {
          queues[queue].addTask(random.tasks[index])
        }
        for (position, victim) in victims.enumerated() where position % 8 == thread {
          random.tasks[victim].cancel()
        }
        if remaining.add(-1) == 0 { done.signal() }
      }.start()
    }
    #expect(await done.opened(), "seed \(seed)")
    let ended = await eventually {
      random.tasks.allSatisfy { $0.isFinished } && queues.allSatisfy { $0.taskCount == 0 }
    }
    guard ended else {
      let stuck = random.tasks.filter { !$0.isFinished }
      Issue.record("seed \(seed): \(stuck.count) stuck, \(stuck.prefix(3))")
      return
    }
    #expect(random.starts.allSatisfy { $0.value <= 1 }, "seed \(seed)")
    #expect(await eventually { random.ends.allSatisfy { $0.value == 1 } }, "seed \(seed)")
    #expect(random.highest.allSatisfy { $0.highest <= 1 }, "seed \(seed)")
  }

  @Test("105. A few random sets of tasks: each ends once, categories exclude")
  func few() async {
    var seeds = SeededGenerator()
    for _ in 0..<3 { await run(seed: seeds.next(), count: 200) }
  }

  @Test("105. Two hundred random sets of a thousand tasks", .enabled(if: isStressing))
  func many() async {
    var seeds = SeededGenerator()
    for _ in 0..<times(200) { await run(seed: seeds.next(), count: 1000) }
  }

  @Test("79. A chain of operators needs no stack: to run, to fail, to cancel, to be dropped")
  func depth() async throws {
    let count = isStressing ? times(100_000) : 10_000
    @Sendable func chain(_ source: ProducerTask<Int, TestError>) -> ProducerTask<Int, TestError> {
      (0..<count).reduce(source) { task, _ in task.map { $0 + 1 } }
    }
    let queue = TaskQueue()
    let total = try await SmallStackThread.running(within: .seconds(240)) { () -> [Int] in
      let ran = chain(BlockProducerTask { _, finish in finish(.success(0)) })
      queue.addTask(ran)
      let value = try ran.wait(timeout: .seconds(110))
      let failed = chain(BlockProducerTask { _, finish in finish(.failure(.provided(.first))) })
      queue.addTask(failed)
      _ = try? failed.wait(timeout: .seconds(110))
      let cancelled = chain(BlockProducerTask { _, _ in })
      let suspended = TaskQueue(startSuspended: true)
      suspended.addTask(cancelled)
      cancelled.cancel()
      // (Foundation keeps a suspended queue for as long as something is in it.)
      suspended.isSuspended = false
      let idle = chain(BlockProducerTask { _, _ in })
      idle.cancel()
      _ = chain(BlockProducerTask { _, _ in })
      return [
        value, failed.isFulfilled ? 1 : 0, cancelled.isCancelled ? 1 : 0, idle.isCancelled ? 1 : 0,
      ]
    }
    #expect(total == [count, 1, 1, 1])
  }

  @Test("A hundred thousand tasks with random dependencies take linear time")
  func linear() async {
    func time(_ count: Int) async -> Double {
      var generator = SeededGenerator(seed: 7)
      let begin = ContinuousClock.now
      let queue = TaskQueue()
      var tasks: [BlockProducerTask<Int, TestError>] = []
      for index in 0..<count {
        let task = BlockProducerTask<Int, TestError> { _, finish in finish(.success(1)) }
        if index > 0 {
          for _ in 0..<2 {
            task.addDependency(tasks[Int.random(in: 0..<index, using: &generator)])
          }
        }
        tasks.append(task)
      }
      for task in tasks { queue.addTask(task) }
      _ = await eventually(within: .seconds(100)) { queue.taskCount == 0 }
      // (A task leaves its queue when it has settled, and finishes afterwards.)
      #expect(await eventually { tasks.allSatisfy { $0.isFinished } })
      let (seconds, attoseconds) = (ContinuousClock.now - begin).components
      return Double(seconds) + Double(attoseconds) / 1e18
    }
    let count = isStressing ? times(50_000) : 4_000
    _ = await time(count)
    let ratio = await Growth.leastRatio(below: Growth.doubledBound) {
      let small = await time($0 * count)
      return await time($0 * 2 * count) / small
    }
    #expect(ratio < Growth.doubledBound || !isFullSize)
  }

  @Test("A million attempts need neither stack nor memory", .enabled(if: isStressing))
  func attempts() async throws {
    let tracker = LifetimeTracker()
    let (most, done) = (Box(0), Event())
    let count = times(1_000_000)
    let task = try await SmallStackThread.running {
      let task = Tasks.retry(RetryPolicy(attempts: count)) { _ -> ProducerTask<Int, TestError> in
        let object = tracker.make()
        most.value = max(most.value, tracker.alive)
        return Tasks.fail(.first).receive { _ in object.touch() }
      }
      task.receive { _ in done.signal() }
      TaskQueue().addTask(task)
      return task
    }
    #expect(await done.opened(within: .seconds(100)))
    #expect(task.retryHistory?.count == count)
    #expect(task.retryHistory?.last.count == min(count, 16))
    #expect(most.value < 10)
  }

  @Test("A hundred thousand waiting tasks cost the next one nothing", .enabled(if: isStressing))
  func waiting() async {
    func time(waiting count: Int) async -> Double {
      let queue = TaskQueue()
      let gate = EmptyTask()
      let waiting = (0..<count).map { _ in
        BlockProducerTask<Int, TestError> { _, finish in finish(.success(1)) }
      }
      for task in waiting {
        task.addDependency(gate)
        queue.addTask(task)
      }
      let elapsed = await { () async -> Double in
        let begin = ContinuousClock.now
        for _ in 0..<times(2_000) {
          let task = BlockProducerTask<Int, TestError> { _, finish in finish(.success(1)) }
          queue.addTask(task)
          _ = await task.completion
        }
        let (seconds, attoseconds) = (ContinuousClock.now - begin).components
        return Double(seconds) + Double(attoseconds) / 1e18
      }()
      queue.addTask(gate)
      _ = await eventually(within: .seconds(100)) { queue.taskCount == 0 }
      return elapsed
    }
    _ = await time(waiting: 100)
    let ratio = await Growth.leastRatio(below: 2) {
      let few = await time(waiting: 100)
      return await time(waiting: $0 * times(100_000)) / few
    }
    #expect(ratio < 2 || !isFullSize)
  }
}
