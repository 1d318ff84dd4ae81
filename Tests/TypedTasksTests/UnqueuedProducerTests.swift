import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Consumers whose producers are in no queue", .timeLimit(.minutes(5)), .oneAtATime)
struct UnqueuedProducerTests {
  private let queue = TaskQueue(name: "work")

  private func download(_ count: Counter = Counter()) -> Sample<Int> {
    Sample(name: "download") { _, finish in
      count.add()
      finish(.success(2))
    }
  }

  private func doubled(
    _ producer: ProducerTask<Int, TestError>
  ) -> BlockConsumerProducerTask<Int, Int, TestError> {
    BlockConsumerProducerTask(name: "double", producing: producer) { _, consumed, finish in
      finish(consumed.map { $0 * 2 })
    }
  }

  @Test("34. Added alone, a consumer waits, and says which task has to be added")
  func descriptions() async throws {
    let producer = download()
    let consumer = doubled(producer)
    #expect(consumer.description.contains("(in no queue)"))
    queue.addTask(consumer)
    #expect(consumer.description.contains("(waiting for download (in no queue)), created at"))
    #expect(queue.description == #"TaskQueue "work" (tasks: 1)"#)
    let report = queue.debugDescription.split(separator: "\n")
    #expect(report.count == 2)
    #expect(report.first.map(String.init) == queue.description)
    #expect(report.last.map(String.init) == "  \(consumer.debugDescription)")
    #expect(producer.produced == nil)
    queue.isSuspended = true
    queue.addTask(producer)
    #expect(consumer.description.contains("(waiting for download), created at"))
    queue.isSuspended = false
    #expect(try await consumer.value == 4)
    #expect(await eventually { queue.debugDescription == #"TaskQueue "work" (tasks: 0)"# })
  }

  @Test("A queue and a task say what holds them up, and name only the first few")
  func longDescriptions() {
    let queue = TaskQueue(name: "slow", maxConcurrentTaskCount: 2, startSuspended: true)
    #expect(queue.description == #"TaskQueue "slow" (tasks: 0, at most 2 at a time, suspended)"#)
    let operation = BlockOperation {}
    operation.name = "import"
    let task = Manual<Int>()
    task.addDependency(operation)
    queue.addTask(task)
    #expect(task.description.contains("(waiting for import)"))
    let many = Manual<Int>()
    for number in 1...4 { many.addDependency(Sample<Int>(name: "\(number)") { _, _ in }) }
    many.addDependency(operation)
    queue.addTask(many)
    #expect(
      many.description.contains(
        "(waiting for 1 (in no queue), 2 (in no queue), 3 (in no queue), 2 more)"))
    let stage = many.map { $0 }
    queue.addTask(stage)
    #expect(stage.description.contains("(waiting for \(many.name ?? ""))"))
    queue.cancelAllTasks()
    // (Foundation keeps a suspended queue for as long as something is in it.)
    queue.isSuspended = false
  }

  @Test("34. With an operator below it, a consumer brings along what it consumes")
  func operators() async throws {
    let count = Counter()
    let producer = download(count)
    let second = doubled(doubled(producer.map { $0 + 1 }))
    let stage = second.map { $0 + 1 }
    queue.addTask(stage)
    #expect(try await stage.value == 13)
    #expect(count.value == 1)
    // Adding them too is no mistake, and changes nothing.
    queue.addTask(producer)
    queue.addTask(second)
    await queue.finished()
    #expect(count.value == 1)
    #expect(producer.kind == .success)
    // Several stages below one producer.
    let shared = download(count)
    let joined = doubled(shared).zip(doubled(shared), shared)
    queue.addTask(joined)
    #expect(try await joined.value == (4, 4, 2))
    #expect(count.value == 2)
    // In a queue that is no task queue.
    let plain = OperationQueue()
    let other = doubled(download()).map { $0 }
    plain.addOperation(other)
    #expect(try await other.value == 4)
    let made = succeeding(1).flatMap { _ in doubled(doubled(download())) }
    plain.addOperation(made)
    #expect(try await made.value == 8)
    // Failure and cancellation come through.
    let failed = doubled(failing()).map { $0 }
    queue.addTask(failed)
    #expect(await failed.outcome() == .provided)
    let cancelled = download()
    cancelled.cancel()
    let below = doubled(cancelled).map { $0 }
    queue.addTask(below)
    #expect(await below.outcome() == .cancelled)
  }

  @Test("34. In a group, or made by a closure, a consumer brings along what it consumes")
  func groups() async throws {
    let member = doubled(download())
    let group = GroupProducerTask(tasks: (member), produced: member)
    queue.addTask(group)
    #expect(try await group.value == 4)
    // Listed too, in any order, the producer is a member like any other.
    for isFirst in [true, false] {
      let count = Counter()
      let producer = download(count)
      let consumer = doubled(producer)
      let both = GroupProducerTask(
        tasks: isFirst ? [producer, consumer] : [consumer, producer], produced: consumer)
      queue.addTask(both)
      #expect(try await both.value == 4)
      #expect(count.value == 1)
    }
    let stage = succeeding(1).flatMap { _ in doubled(download()) }
    queue.addTask(stage)
    #expect(try await stage.value == 4)
  }

  @Test("34. What is in a queue already stays there, and what is not waited for is not added")
  func elsewhere() async throws {
    let key = DispatchSpecificKey<Int>()
    let underlying = DispatchQueue(label: "elsewhere")
    underlying.setSpecific(key: key, value: 7)
    let other = TaskQueue(underlyingQueue: underlying, startSuspended: true)
    let producer = Sample<Int> { _, finish in
      finish(.success(DispatchQueue.getSpecific(key: key) ?? 0))
    }
    other.addTask(producer)
    let stage = doubled(producer).map { $0 }
    queue.addTask(stage)
    #expect(producer.produced == nil)
    other.isSuspended = false
    #expect(try await stage.value == 14)

    let count = Counter()
    let unwanted = download(count)
    let consumer = doubled(unwanted)
    consumer.removeDependency(unwanted)
    let below = consumer.map { $0 }
    queue.addTask(below)
    #expect(await below.outcome() == .producing)
    #expect(count.value == 0)
    #expect(unwanted.description.contains("in no queue"))
  }

  /// Lets the time of an operator be over while the operator's upstream is added.
  private final class TimeIsUp: TaskQueueDelegate {
    let clock = ManualClock()
    let limited = Box<AnyFuture?>(nil)

    func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, willAdd task: T) {
      _ = eventuallyBlocking { self.clock.sleeping == 1 }
      clock.advance(by: .seconds(1))
      _ = eventuallyBlocking { self.limited.value?.isFinished == true }
    }
  }

  @Test("A timeout is over before its operator is in the queue: its upstream is cancelled")
  func timeoutBeforeTheQueue() async throws {
    let (delegate, source) = (TimeIsUp(), Manual<Int>())
    let watched = TaskQueue()
    watched.delegate = delegate
    let limited = source.timeout(after: .seconds(1), clock: delegate.clock)
    delegate.limited.value = limited
    try await SmallStackThread.running { watched.addTask(limited) }
    #expect(await limited.outcome() == .timeout)
    #expect(await eventually { source.kind == .cancelled })
    delegate.limited.value = nil
  }

  @Test("An operator fails before it is in a queue: its upstream is cancelled if only it wants it")
  func failureBeforeTheQueue() async {
    let (own, added, shared) = (Manual<Int>(), Manual<Int>(), download())
    queue.addTask(added)
    let other = shared.map { $0 }
    for source in [own, added, shared] as [ProducerTask<Int, TestError>] {
      let stage = source.map { $0 }
      // In no queue, this is a mistake.
      stage.start()
      #expect(await stage.outcome() == .notEnqueued)
    }
    #expect(await own.outcome() == .cancelled)
    #expect(await added.started.opened())
    added.finish(with: .success(1))
    #expect(await added.outcome() == .success)
    queue.addTask(other)
    #expect(await other.outcome() == .success)
  }

  /// Counts the tasks that come into a queue.
  private final class Counting: TaskQueueDelegate {
    let added = Counter()
    func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, willAdd task: T) { added.add() }
  }

  @Test("The queue has one slot: the tasks upstream of a join run in the order of the arguments")
  func orderOfUpstreams() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 1)
    let begun = Log<Int>()
    @Sendable func task(_ number: Int) -> Sample<Int> {
      Sample { _, finish in
        begun.append(number)
        finish(.success(number))
      }
    }
    let collected = Tasks.collect((0..<4).map(task))
    queue.addTask(collected)
    #expect(await collected.outcome() == .success)
    let zipped = task(4).map { $0 }.zip(task(5).map { $0 }, task(6))
    queue.addTask(zipped)
    #expect(await zipped.outcome() == .success)
    #expect(begun.entries == [0, 1, 2, 3, 4, 5, 6])
    let race = task(7).firstOf(task(8), task(9))
    queue.addTask(race)
    #expect(await race.outcome() == .success)
    #expect(race.success == 7)
  }

  @Test("Stages that part and join again 40 times come into the queue once each, upstream first")
  func diamonds() async {
    let (queue, delegate) = (TaskQueue(), Counting())
    queue.delegate = delegate
    var stage: ProducerTask<Int, TestError> = succeeding(1)
    for _ in 0..<40 {
      let last = stage
      stage = Tasks.collect([last.map { $0 }, last.map { $0 + 1 }]).map { $0[0] }
    }
    queue.addTask(stage)
    #expect(await stage.outcome() == .success)
    #expect(stage.success == 1)
    #expect(delegate.added.value == 1 + 40 * 4)
  }
}
