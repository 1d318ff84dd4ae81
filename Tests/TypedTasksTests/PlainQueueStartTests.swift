import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing
import TypedTasks

@Suite("How a plain queue starts a task", .timeLimit(.minutes(5)), .oneAtATime)
struct PlainQueueStartTests {
  private enum Printer {}

  private let queue = OperationQueue()
  private let key = DispatchSpecificKey<Bool>()
  private let settling = DispatchQueue(label: "settling")

  init() {
    queue.isSuspended = true
    settling.setSpecific(key: key, value: true)
  }

  /// A task whose value tells whether it runs on the thread that ends its wait.
  private var telling: Sample<Bool> {
    Sample { [key] _, finish in finish(.success(DispatchQueue.getSpecific(key: key) == true)) }
  }

  @Test("A queue starts a task that gets a dependency then: it runs elsewhere than the dependency")
  func dependency() async {
    let (task, promise) = (telling, Promises.make(promising: Int.self))
    queue.addOperation(task)
    #expect(await eventually { task.isReady })
    task.addDependency(promise)
    queue.isSuspended = false
    #expect(
      await eventually {
        task.description.contains("waiting for") && !task.description.contains("a slot")
      })
    settling.async { promise.succeed(with: 1) }
    #expect(await task.outcome() == .success)
    #expect(task.success == false)
    #expect(await eventually { queue.operationCount == 0 })
  }

  @Test("A queue starts a task whose category is held: it runs elsewhere than what frees it")
  func category() async {
    let (task, tasks) = (telling, TaskQueue(startSuspended: true))
    let holder = Manual<Int>()
    holder.addCondition(.mutuallyExclusive(Printer.self))
    task.addCondition(.mutuallyExclusive(Printer.self))
    queue.addOperation(task)
    #expect(await eventually { task.isReady })
    tasks.addTask(holder)
    tasks.isSuspended = false
    // The request of the plain queue is late then, and the holder takes the category.
    #expect(await holder.started.opened())
    queue.isSuspended = false
    #expect(await eventually { task.description.contains("waiting for its turn") })
    settling.async { holder.finish(with: .success(1)) }
    #expect(await task.outcome() == .success)
    #expect(task.success == false)
  }

  private struct Counting: TaskObserver {
    let executions: Counter

    func taskDidStart<T: ProducerTaskProtocol>(_ task: T) { executions.add() }
  }

  @Test("A task in a suspended queue is started by hand: it waits for the queue")
  func byHand() async {
    let task = telling
    let executions = Counter()
    task.addObserver(Counting(executions: executions))
    queue.addOperation(task)
    #expect(await eventually { task.isReady })
    task.start()
    #expect(executions.value == 0)
    #expect(!task.isExecuting && !task.isFinished)
    queue.isSuspended = false
    #expect(await task.outcome() == .success)
    #expect(executions.value == 1)
    #expect(await eventually { queue.operationCount == 0 })
  }
}
