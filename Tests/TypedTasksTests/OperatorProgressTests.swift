import Foundation
import FuturesTestSupport
import TestSupport
import Testing

@testable import Futures
@testable import TypedTasks

@Suite("Progress of operators", .timeLimit(.minutes(5)), .oneAtATime)
struct OperatorProgressTests {
  /// A task that a test reports for and ends.
  private final class Held: ProducerTask<Int, TestError>, @unchecked Sendable {
    let begun = Event()
    override func execute() { begun.signal() }
  }

  private func run<Output, Failure>(
    _ task: ProducerTask<Output, Failure>, in queue: TaskQueue = TaskQueue(), begins held: Held...
  ) async {
    queue.addTask(task)
    for task in held { #expect(await task.begun.opened()) }
  }

  @Test func `operators with one upstream have its progress, in its units`() async {
    let makers: [(Held) -> AnyFuture] = [
      { $0.map { $0 + 1 } }, { $0.tryMap { $0 } }, { $0.compactMap { $0 } },
      { $0.filter { _ in true } }, { $0.share() }, { $0.replaceError(with: 1) },
      { $0.mapError { _ in TestError.second } }, { $0.handleEvents() },
      { $0.timeout(after: .seconds(3600)) }, { $0.delay(for: .zero) },
      { task in task.catch { _ in Tasks.just(1).setFailureType(to: TestError.self) } },
      { $0.retry(attempts: 2) { _ in Held() } }, { $0.eraseToProducerTask() },
      { $0.map { $0 }.map { $0 } },
    ]
    for make in makers {
      let task = Held()
      let end = make(task)
      #expect(end.currentProgress == .unknown)
      task.report(completed: 1, of: 4)
      #expect(end.currentProgress.completed == 1 && end.currentProgress.total == 4)
      task.cancel()
    }
  }

  @Test func `operators that ran and succeeded are complete, and others are unknown`() async {
    let (task, failing) = (Held(), Held())
    let (end, other) = (task.map { $0 }, failing.map { $0 })
    await run(end, begins: task)
    await run(other, begins: failing)
    task.finish(with: .success(1))
    failing.finish(with: .failure(.provided(.first)))
    _ = await (end.completion, other.completion)
    #expect(end.currentProgress.fractionCompleted == 1)
    #expect(other.currentProgress == .unknown)
  }

  @Test func `the upstream of flatMap is one half of the work, and its task the other`() async {
    let (first, second) = (Held(), Held())
    let end = first.flatMap { _ in second }
    let all = end.map { $0 }
    let seen = Log<Double>()
    let task = Task {
      for await progress in all.progressUpdates { seen.append(progress.fractionCompleted) }
    }
    await run(all, begins: first)
    #expect(await eventually { seen.entries == [0] })
    first.report(completed: 1, of: 2)
    #expect(await eventually { seen.entries == [0, 0.25] })
    first.finish(with: .success(1))
    #expect(await second.begun.opened())
    #expect(await eventually { seen.entries == [0, 0.25, 0.5] })
    #expect(await eventually { !second.storage.progressWatches.isEmpty })
    second.report(completed: 1, of: 2)
    #expect(await eventually { seen.entries == [0, 0.25, 0.5, 0.75] })
    second.finish(with: .success(2))
    await task.value
    #expect(seen.entries == [0, 0.25, 0.5, 0.75, 1])
  }

  @Test func `catch and retry have the progress of the task that they continue with`() async {
    for isRetry in [false, true] {
      let (first, second) = (Held(), Held())
      let end =
        isRetry ? first.retry(attempts: 2) { _ in second } : first.catch { _ in second }
      let progress = end.makeProgress()
      await run(end, begins: first)
      first.report(completed: 1, of: 2)
      #expect(progress.fractionCompleted == 0.5)
      first.finish(with: .failure(.provided(.first)))
      #expect(await second.begun.opened())
      second.report(completed: 1, of: 4)
      #expect(end.currentProgress.fractionCompleted == 0.25)
      #expect(await eventually { !second.storage.progressWatches.isEmpty })
      #expect(progress.fractionCompleted == 0.5, "it does not fall")
      second.report(completed: 3, of: 4)
      #expect(await eventually { progress.fractionCompleted == 0.75 })
      second.finish(with: .success(1))
      _ = await end.completion
      #expect(await eventually { progress.isFinished })
    }
  }

  @Test func `a retry that makes its first attempt has its progress`() async {
    let task = Held()
    let end = Tasks.retry(RetryPolicy(attempts: 2)) { _ in task }
    #expect(end.currentProgress == .unknown)
    await run(end, begins: task)
    task.report(completed: 1, of: 4)
    #expect(end.currentProgress.completed == 1)
    task.finish(with: .success(1))
    _ = await end.completion
  }

  @Test func `zip, collect and reduce have the mean, and a settled task is complete`() async {
    let makers: [(Held, Held) -> AnyFuture] = [
      { $0.zip($1) }, { $0.collect(with: $1) }, { Tasks.reduce([$0, $1], 0, +) },
    ]
    for make in makers {
      let (first, second) = (Held(), Held())
      let end = make(first, second)
      first.report(completed: 1, of: 2)
      #expect(end.currentProgress.fractionCompleted == 0.25)
      second.cancel()
      #expect(end.currentProgress.fractionCompleted == 0.75)
      first.cancel()
    }
    #expect(
      Tasks.collect([ProducerTask<Int, TestError>]()).currentProgress == .unknown,
      "it is in no queue")
  }

  @Test func `firstOf has the progress of the task that is furthest, and does not fall`() async {
    let tasks = [Held(), Held(), Held()]
    let first = Tasks.firstOf(tasks)
    let queue = TaskQueue()
    await run(first, in: queue, begins: tasks[0], tasks[1], tasks[2])
    tasks[0].report(completed: 3, of: 4)
    tasks[1].report(completed: 1, of: 4)
    #expect(first.currentProgress.fractionCompleted == 0.75)
    tasks[0].finish(with: .failure(.provided(.first)))
    _ = await tasks[0].completion
    #expect(first.currentProgress.fractionCompleted == 0.75)
    tasks[2].report(completed: 7, of: 8)
    #expect(first.currentProgress.fractionCompleted == 0.875)
    tasks[1].finish(with: .success(1))
    _ = await first.completion
    #expect(first.currentProgress.fractionCompleted == 1)
  }

  @Test func `a group and a consumer have the progress that their own work reports`() {
    let task = Held()
    let group = GroupProducerTask(tasks: [task], produced: task)
    task.report(completed: 1, of: 2)
    #expect(group.currentProgress == .unknown)
    group.report(completed: 1, of: 4)
    #expect(group.currentProgress.completed == 1)
    group.cancel()
  }

  @Test func `a report on the operator itself counts first`() {
    let task = Held()
    let end = task.map { $0 }
    task.report(completed: 1, of: 2)
    end.report(completed: 1, of: 4)
    #expect(end.currentProgress.completed == 1 && end.currentProgress.total == 4)
    task.cancel()
  }

  @Test func `async work of a task reports without its task`() async {
    let (mayEnd, begun) = (Event(), Event())
    let task = AsyncBlockProducerTask<Int, any Error> { _ in
      Promises.report(completed: 1, of: 4)
      begun.signal()
      _ = await mayEnd.opened()
      return 1
    }
    let end = task.map { $0 }
    TaskQueue().addTask(end)
    #expect(await begun.opened())
    #expect(end.currentProgress.completed == 1)
    mayEnd.signal()
    _ = await end.completion
  }

  @Test func `four times the operators take at most four times the visits, on a small stack`()
    async throws
  {
    let (small, large) = try await SmallStackThread.running { () -> (Int, Int) in
      func visits(_ count: Int) -> Int {
        let task = Held()
        var end: ProducerTask<Int, TestError> = task
        for _ in 0..<count { end = Tasks.collect([end, end]).map { $0[0] } }
        task.report(completed: 1, of: 2)
        let walk = ProgressWalk(from: end)
        #expect(abs(walk.progress.fractionCompleted - 0.5) < 1e-9)
        task.cancel()
        return walk.visits
      }
      return (visits(100), visits(400))
    }
    #expect(small <= 202 && large <= 4 * small)
  }
}
