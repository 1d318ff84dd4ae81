import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Tasks whose work is async", .timeLimit(.minutes(5)), .oneAtATime)
struct AsyncProducerTaskTests {
  private final class Cancelling: AsyncProducerTask<Int, any Error>, @unchecked Sendable {
    override var qualityOfService: QualityOfService {
      get {
        if isExecuting { cancel() }
        return super.qualityOfService
      }
      set { super.qualityOfService = newValue }
    }

    override func perform() async throws -> Int {
      try Task.checkCancellation()
      return 1
    }
  }

  @Test("A task is cancelled where its quality of service is read: its work is cancelled")
  func cancelledWhileItBegins() async {
    let task = Cancelling()
    TaskQueue().addTask(task)
    #expect(await eventually { task.isFinished })
    #expect(task.isCancelled)
  }

  private final class Told: AsyncProducerTask<Int, any Error>, TaskQueueDelegate,
    @unchecked Sendable
  {
    // Sendable: adds only a log, which never changes.
    let log = Log<String>()

    func tell(_ name: String) {
      withUnsafeCurrentTask { task in
        log.append("\(name): \(task.map { $0.isCancelled ? "cancelled" : "runs" } ?? "no task")")
      }
    }

    override func perform() async throws -> Int { 1 }
    override func finished(with produced: Produced) { tell("hook") }
    func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, didFinish task: T) {
      tell("delegate")
    }
  }

  @Test("An async task succeeds: what is told of it runs in a Swift task that is not cancelled")
  func handlersInSwiftTask() async {
    let (queue, task) = (TaskQueue(), Told())
    queue.delegate = task
    task.receive { [unowned task] _ in task.tell("handler") }
    task.addObserver(BlockObserver(didFinish: { [unowned task] _ in task.tell("observer") }))
    queue.addTask(task)
    #expect(await task.outcome() == .success)
    #expect(task.isFulfilled && task.success == 1)
    #expect(
      task.log.entries == ["handler: runs", "hook: runs", "observer: runs", "delegate: runs"])
  }
}
