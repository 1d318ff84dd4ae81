import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("What a reading of the engine of tasks found", .timeLimit(.minutes(5)), .oneAtATime)
struct EngineFaultTests {
  private let queue = TaskQueue()

  // MARK: User code in the work loop

  @Test("A condition that settles a promise and waits for its consumer is answered")
  func conditionThatWaits() async {
    let promise = Promise<Int>()
    let consumer = promise.mapToValue(on: .inline) { $0 + 1 }
    let gate: Sample<Int> = succeeding(1)
    let task: Sample<Int> = succeeding(2)
    task.addDependency(gate)
    task.addCondition(
      BlockCondition { _ in
        promise.succeed(with: 1)
        return try consumer.wait(timeout: Event.patience) == 2
      })
    queue.addAll([task, gate])
    #expect(await task.outcome() == .success)
  }

  @Test("A closure of retry that settles a promise and waits for its consumer makes every attempt")
  func retryThatWaits() async {
    let attempts = Counter()
    let task = failing(Int.self).retry(3) { _ -> ProducerTask<Int, TestError> in
      attempts.add()
      let promise = Promise<Int>()
      let consumer = promise.mapToValue(on: .inline) { $0 }
      promise.succeed(with: 1)
      let isTold = (try? consumer.wait(timeout: Event.patience)) == 1
      return isTold && attempts.value == 3 ? succeeding(attempts.value) : failing(Int.self)
    }
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(task.success == 3)
  }

  #if os(Linux) || os(macOS)
    @Test("A hundred thousand attempts of a task that has failed from the beginning need no stack")
    func manyAttempts() async {
      await #expect(processExitsWith: .success) {
        let (done, tracker) = (Event(), LifetimeTracker())
        try? await SmallStackThread.running {
          let first: ProducerTask<Int, TestError> = Tasks.fail(.first)
          let task = first.retry(100_000) { [object = tracker.make()] error in
            object.touch()
            return Tasks.fail(error) as ProducerTask<Int, TestError>
          }
          task.receive { _ in done.signal() }
          TaskQueue().addTask(task)
        }
        guard await done.opened() else { fatalError("it did not end") }
        // (What is on its way when a process ends looks to a sanitizer as if it leaked.)
        guard await eventually({ tracker.alive == 0 }) else { fatalError("the attempts are kept") }
      }
    }
  #endif

  // MARK: Ends

  @Test("A block that drops its `finish` fails, with the task's name and where it was made")
  func droppedFinish() async {
    let line = #line + 1
    let task = BlockProducerTask<Int, TestError>(name: "forgetful") { _, _ in }
    queue.addTask(task)
    _ = await task.outcome()
    guard case .failure(.internal(let error)) = task.produced else {
      Issue.record("\(String(describing: task.produced))")
      return
    }
    let text = (error as? any LocalizedError)?.errorDescription ?? ""
    #expect(text.contains("forgetful"))
    #expect(text.contains("EngineFaultTests.swift:\(line)"))
    // A consumer's closure, too.
    let consumer = BlockConsumerProducerTask<Int, Int, TestError>(
      producing: succeeding(1)
    ) { _, _, _ in }
    queue.addAll([consumer.producing, consumer])
    _ = await consumer.outcome()
    #expect(consumer.kind == .unfinished)
  }

  @Test("A block that is cancelled and drops its `finish` later ends as cancelled")
  func droppedFinishAfterCancellation() async {
    let kept = Box<BlockProducerTask<Int, TestError>.Finish?>(nil)
    let started = Event()
    let task = Sample<Int> { _, finish in
      kept.value = finish
      started.signal()
    }
    queue.addTask(task)
    await started.opened()
    task.cancel()
    kept.value = nil
    #expect(await task.outcome() == .cancelled)
  }

  @Test("The result that a group gives itself after its members have begun is its result")
  func groupsOwnResult() async {
    final class Group: GroupProducerTask<Int, TestError>, @unchecked Sendable {
      override func execute() {
        super.execute()
        finish(with: .success(7))
      }
    }
    for _ in 0..<300 {
      let member: Sample<Int> = succeeding(1)
      let group = Group(tasks: [member], produced: member)
      queue.addTask(group)
      _ = await group.outcome()
      guard group.success == 7 else {
        Issue.record("\(String(describing: group.produced))")
        return
      }
    }
  }

  @Test("A condition is released when its task has finished")
  func conditionsAreReleased() async {
    final class Token: Sendable {}
    var token: Token? = Token()
    weak var weakToken: Token?
    weakToken = token
    let task: Sample<Int> = succeeding(1)
    task.addCondition(
      BlockCondition { [token, unowned task] _ in
        withExtendedLifetime(token) { !task.isFinished }
      })
    token = nil
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(await eventually { weakToken == nil })
  }

  // MARK: Dependencies

  @Test("A dependency on a plain operation is taken back while the task waits: it runs")
  func removePlainDependency() async {
    let operation = BlockOperation {}
    let gate = Manual<Int>()
    let task: Sample<Int> = succeeding(1)
    task.addDependency(operation)
    task.addDependency(gate)
    queue.addAll([task, gate])
    task.removeDependency(operation)
    await gate.started.opened()
    gate.finish(with: .success(1))
    #expect(await task.outcome() == .success)
  }

  // MARK: Cancelling

  @Test("A cancelled stage does not cancel a producer that the user has added himself")
  func explicitProducer() async {
    let producer = Manual<Int>()
    queue.addTask(producer)
    await producer.started.opened()
    let stage = producer.map { $0 }
    queue.addTask(stage)
    stage.cancel()
    #expect(await stage.outcome() == .cancelled)
    producer.finish(with: .success(1))
    #expect(await producer.outcome() == .success)
  }

  @Test("A cancelled consumer does not cancel a producer that the user has added himself")
  func explicitProducerOfConsumer() async {
    let producer = Manual<Int>()
    let consumer = BlockConsumerProducerTask<Int, Int, TestError>(producing: producer) {
      _, consumed, finish in finish(consumed)
    }
    queue.addAll([producer, consumer])
    await producer.started.opened()
    consumer.cancel()
    #expect(await consumer.outcome() == .cancelled)
    producer.finish(with: .success(1))
    #expect(await producer.outcome() == .success)
  }

  @Test("A cancelled stage cancels a producer that only came with it")
  func implicitProducer() async {
    let producer = Manual<Int>()
    let stage = producer.map { $0 }
    queue.addTask(stage)
    await producer.started.opened()
    stage.cancel()
    #expect(await eventually { producer.isCancelled })
    producer.finish(with: .success(1))
  }

  @Test("All tasks are cancelled, those included that were added for later")
  func cancelAddedForLater() async {
    let task: Sample<Int> = succeeding(1)
    queue.addTaskAfter(task, deadline: .now() + .seconds(3_600))
    queue.cancelAllTasks()
    #expect(await task.outcome() == .cancelled)
  }

  // MARK: Waiting

  @Test("Two closures that fill a queue and wait for a third task of it: one is refused")
  func twoSlotsWaitForAThird() async {
    let queue = TaskQueue(maxConcurrentTaskCount: 2)
    let third: Sample<Int> = succeeding(3)
    let both = Barrier(2)
    let refused = Counter()
    func waiting() -> Sample<Int> {
      Sample { _, finish in
        both.meet()
        do {
          try third.wait(timeout: Event.patience)
        } catch ProperationsError.wouldDeadlock {
          refused.add()
        } catch {}
        finish(.success(1))
      }
    }
    let (first, second) = (waiting(), waiting())
    queue.addAll([first, second, third])
    #expect(await third.outcome() == .success)
    #expect(await first.outcome() == .success)
    #expect(await second.outcome() == .success)
    #expect((1...2).contains(refused.value))
  }

  @MainActor
  final class ViewModel {
    var number = 0 {
      didSet { MainActor.preconditionIsolated() }
    }

    func load(in queue: TaskQueue) -> ProducerTask<Int, TestError> {
      let task: Sample<Int> = succeeding(7)
      task.assign(to: \.number, on: self)
      queue.addTask(task)
      return task
    }
  }

  @Test("A value assigned to a property of a class on the main actor is written there")
  @MainActor
  func assignOnMainActor() async {
    let model = ViewModel()
    let task = model.load(in: queue)
    #expect(await task.outcome() == .success)
    while model.number == 0 { await Task.yield() }
    #expect(model.number == 7)
  }

  // MARK: Types

  @Test("assertNoFailure makes a task that cannot fail")
  func assertNoFailure() async {
    let task: NonFailProducerTask<Int> = succeeding(1).assertNoFailure()
    queue.addTask(task)
    #expect(await task.outcome() == .success)
  }

  // MARK: Being told

  @Test("Progress is told of in the order of its numbers")
  func progressInOrder() async {
    for _ in 0..<20 {
      let log = Log<Int64>()
      let progress = Observers.Progress(totalUnitCount: 100) { done, _ in log.append(done) }
      let tasks = (0..<100).map { _ in succeeding(1).addObserver(progress) }
      queue.addAll(tasks)
      for task in tasks { _ = await task.outcome() }
      #expect(await eventually { log.entries.last == 100 })
      #expect(log.entries == log.entries.sorted())
    }
  }

  @Test("A join says where it was made, and a stage where the task in front of it was made")
  func birthplaces() {
    let (a, b): (Sample<Int>, Sample<Int>) = (succeeding(1), succeeding(2))
    let line = #line + 1
    let joins: [AnyFuture] = [a.zip(b), a.collect(with: b), a.firstOf(b), Tasks.collect([a, b])]
    for join in joins {
      #expect(join.createdAt.fileID.hasSuffix("EngineFaultTests.swift"))
      #expect(join.createdAt.line == line)
    }
    let stages: [AnyFuture] = [a.map { $0 }, a.map { $0 }.map { $0 }]
    for stage in stages {
      #expect(stage.createdAt.fileID == a.createdAt.fileID)
      #expect(stage.createdAt.line == a.createdAt.line)
    }
  }

  @Test("A condition added in `willEnqueue()` counts")
  func conditionInWillEnqueue() async {
    final class Careful: ProducerTask<Int, TestError>, @unchecked Sendable {
      override func willEnqueue() { addCondition(Unmet(error: .first)) }
      override func execute() { finish(with: .success(1)) }
    }
    let task = Careful()
    queue.addTask(task)
    #expect(await task.outcome() == .conditions)
  }

  @Test("An error that says cancelled, thrown by any closure, cancels what the closure makes")
  func thrownCancellations() async {
    let errors: [any Error & Sendable] = [
      CancellationError(), ProducerTaskError.cancelled, ProperationsError.cancelled,
    ]
    for error in errors {
      let block = BlockProducerTask<Int, any Error> { _ in throw error }
      let async = AsyncBlockProducerTask<Int, any Error> { _ in throw error }
      let mapped = succeeding(1).tryMap { _ -> Int in throw error }
      let compact = succeeding(1).tryCompactMap { _ -> Int? in throw error }
      let caught = failing(Int.self).tryCatch { _ -> ProducerTask<Int, TestError> in throw error }
      // (It lets the cancellation pass.)
      let passing = BlockProducerTask<Int, any Error> { _ in throw error }
        .catch { _ in Tasks.just(1) as ProducerTask<Int, any Error> }
      queue.addTasks(block, async, mapped, compact, caught, passing)
      #expect(await block.outcome() == .cancelled)
      #expect(await async.outcome() == .cancelled)
      #expect(await mapped.outcome() == .cancelled)
      #expect(await compact.outcome() == .cancelled)
      #expect(await caught.outcome() == .cancelled)
      #expect(await passing.outcome() == .cancelled)
    }
  }

  @Test("What a task produces in a handler on another queue runs, or fails: it is not lost")
  func producedInLateHandler() async {
    let task: Sample<Int> = succeeding(1)
    let new: Sample<Int> = succeeding(2)
    let handled = Event()
    task.receive(on: DispatchQueue(label: "handlers")).receive { [unowned task] _ in
      task.produce(new: new)
      handled.signal()
    }
    queue.addTask(task)
    await handled.opened()
    #expect([.success, .notEnqueued].contains(await new.outcome()))
  }
}
