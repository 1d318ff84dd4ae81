import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Adding tasks", .timeLimit(.minutes(5)), .oneAtATime)
struct AddingTests {
  @Test("A handler of a refused upstream waits for the other one: both are refused first")
  func refusedTogether() async {
    let queue = TaskQueue()
    _ = queue.shutDown(within: .zero)
    let (first, second): (Sample<Int>, Sample<Int>) = (succeeding(1), succeeding(2))
    let (isTold, isAdded) = (Event(), Event())
    first.receive(on: .inline) { _ in
      _ = try? second.wait(timeout: Event.patience)
      if second.isFinished { isTold.signal() }
    }
    Thread {
      queue.addTask(first.zip(second))
      isAdded.signal()
    }.start()
    #expect(await isTold.opened())
    #expect(await isAdded.opened())
  }

  @Test("A handler of the first of several tasks, which are refused, waits for the last one")
  func listRefusedTogether() async {
    let queue = TaskQueue()
    _ = queue.shutDown(within: .zero)
    let tasks = (0..<3).map { succeeding($0) as Sample<Int> }
    let (isTold, isAdded) = (Event(), Event())
    tasks[0].receive(on: .inline) { _ in
      _ = try? tasks[2].wait(timeout: Event.patience)
      if tasks[2].isFinished { isTold.signal() }
    }
    Thread {
      queue.addTasks(tasks)
      isAdded.signal()
    }.start()
    #expect(await isTold.opened())
    #expect(await isAdded.opened())
  }

  @Test("A task with a free permit is added inside a closure: it runs before the closure returns")
  func permitInsideClosure() async {
    let queue = TaskQueue()
    let limiter = RateLimiter(permits: 10, per: .seconds(1000))
    let ran = Event()
    let outer = Sample<Bool> { _, finish in
      queue.addTask(
        Sample<Int> { _, finish in
          ran.signal()
          finish(.success(1))
        }.addCondition(limiter))
      finish(.success(ran.wait()))
    }
    queue.addTask(outer)
    _ = await outer.outcome()
    #expect(outer.success == true)
  }

  @Test("Tasks with a permit and a condition of the user get their permits in their order")
  func permitsInOrder() async {
    let (queue, clock) = (TaskQueue(), ManualClock())
    let limiter = RateLimiter(permits: 1, per: .seconds(1), burst: 1, clock: clock)
    let (order, asked) = (Log<Int>(), Counter())
    let tasks = (0..<20).map { number in
      Sample<Int> { _, finish in
        order.append(number)
        finish(.success(number))
      }.addCondition(limiter).addCondition(
        BlockCondition { _ in
          asked.add()
          return true
        })
    }
    queue.addTasks(tasks)
    #expect(await eventually { asked.value == 20 })
    for count in 1..<20 {
      #expect(await eventually { order.count == count && clock.sleeping > 0 })
      clock.advance(by: .seconds(1))
    }
    for task in tasks { #expect(await task.outcome() == .success) }
    #expect(order.entries == Array(0..<20))
  }

  private final class Delegate: TaskQueueDelegate {
    let (rejected, answers) = (Counter(), Log<String>())

    func taskQueue<T: ProducerTaskProtocol>(
      _ queue: TaskQueue, didReject task: T, error: ProducerTaskError
    ) { rejected.add() }

    func taskQueue<T: ProducerTaskProtocol>(_ queue: TaskQueue, willAdd task: T) {
      guard let task = task as? Manual<Int> else { return }
      task.cancel()
      do {
        _ = try task.wait(timeout: Event.patience)
        answers.append("value")
      } catch { answers.append("\(error)") }
    }
  }

  @Test("A task that came in with its operator, and has finished, is added: no mistake")
  func upstreamAfterwards() async {
    let (queue, delegate) = (TaskQueue(), Delegate())
    queue.delegate = delegate
    let task: Sample<Int> = succeeding(1)
    let mapped = task.map { $0 + 1 }
    queue.addTask(mapped)
    #expect(await mapped.outcome() == .success)
    #expect(await eventually { queue.taskCount == 0 })
    queue.addTask(task)
    #expect(delegate.rejected.value == 0)
    // The next time it is one.
    queue.addTask(task)
    #expect(delegate.rejected.value == 1)
  }

  @Test("The delegate cancels a task that is about to be added, and waits for it: refused")
  func waitInWillAdd() async {
    let (queue, delegate, isAdded) = (TaskQueue(), Delegate(), Event())
    queue.delegate = delegate
    let task = Manual<Int>()
    Thread {
      queue.addTask(task)
      isAdded.signal()
    }.start()
    #expect(await isAdded.opened())
    #expect(delegate.answers.entries.count == 1)
    #expect(delegate.answers.entries.first?.contains("cycle") == true)
    #expect(await task.outcome() == .cancelled)
  }

  @Test("Operations are added inside a closure that has cancelled what they need: no deadlock")
  func addAndWaitInsideClosure() async {
    let queue = TaskQueue()
    let needed = Manual<Int>()
    needed.receive(on: .inline) { _ in }
    let operation = BlockOperation {}
    operation.addDependency(needed)
    let isAdded = Event()
    let outer = Promises.run(on: .global()) {
      needed.cancel()
      queue.addOperations([operation], waitUntilFinished: true)
      isAdded.signal()
    }
    #expect(await isAdded.opened())
    try? await outer.value
  }

  @Test("A task whose computed priority falls after it was added runs all the same")
  func fallingPriority() async {
    final class Falling: ProducerTask<Int, TestError>, @unchecked Sendable {
      let isLow = Box(false)
      override var queuePriority: Operation.QueuePriority {
        get { isLow.value ? .low : .normal }
        set { super.queuePriority = newValue }
      }
      override func execute() { finish(with: .success(1)) }
    }
    let (queue, go) = (TaskQueue(maxConcurrentTaskCount: 1), Event())
    queue.addBlock { go.wait() }
    let task = Falling()
    task.queuePriority = .normal
    queue.addTask(task)
    task.isLow.value = true
    go.signal()
    #expect(await task.outcome() == .success)
  }

  /// Blocks the threads of the global queues for a minute.
  private static func blockGlobalQueues() {
    for quality in [DispatchQoS.QoSClass.default, .userInitiated, .utility] {
      for _ in 0..<64 {
        DispatchQueue.global(qos: quality).async { Thread.sleep(forTimeInterval: 60) }
      }
    }
  }

  #if os(Linux) || os(macOS)
    @Test func `a task is added later although the threads of the global queues block`() async {
      await #expect(processExitsWith: .success) {
        OwnProcess.end {
          let own = DispatchQueue(label: "own")
          let queue = TaskQueue(underlyingQueue: own)
          let task: Sample<Int> = succeeding(1)
          Self.blockGlobalQueues()
          queue.addTaskAfter(task, deadline: .now() + .milliseconds(20))
          return (try? task.wait(timeout: .seconds(20))) == 1
        }
      }
    }
  #endif
}
