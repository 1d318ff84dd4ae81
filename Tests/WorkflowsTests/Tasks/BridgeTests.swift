import Foundation
import Futures
import TestSupport
import Testing
import Workflows

@Suite("Bridges", .timeLimit(.minutes(5)), .oneAtATime)
struct BridgeTests {
  @Test("a future as work: value finishes, error fails, cancellation cancels")
  func futureAsWork() async throws {
    let workflow = Workflow(name: "w")
    let good = try workflow.add(
      FutureWorkflowTask<Int>(name: "good") { _ in
        Promises.delay(for: .milliseconds(5)).mapToValue(on: .inline) { 1 }
      })
    let bad = try workflow.add(
      FutureWorkflowTask<Int>(name: "bad") { _ in
        let promise = Promise<Int>()
        promise.fail(with: TestError.first)
        return promise
      })
    let cancelled = try workflow.add(
      FutureWorkflowTask<Int>(name: "cancelled") { _ in
        let promise = Promise<Int>()
        promise.cancel()
        return promise
      })
    let throwing = try workflow.add(
      FutureWorkflowTask<Int>(name: "throwing") { _ in throw TestError.second })
    _ = try await workflow.run()
    #expect(good.result == 1 && bad.error as? TestError == .first)
    #expect(cancelled.isCancelled && throwing.error as? TestError == .second)
  }

  @Test("a promise that everybody has forgotten fails the task")
  func forgottenPromise() async throws {
    let workflow = Workflow(name: "w")
    let task = try workflow.add(FutureWorkflowTask<Int>(name: "t") { _ in Promise<Int>() })
    _ = try await workflow.run()
    guard case .brokenPromise? = task.error as? ProperationsError else {
      Issue.record("\(String(describing: task.error))")
      return
    }
  }

  @Test("a future as work is made anew for each run, and cancelled with it")
  func futurePerRun() throws {
    let workflow = inlineWorkflow()
    let promises = Box<[Promise<Int>]>([])
    let task = try workflow.add(
      FutureWorkflowTask<Int>(name: "t") { _ in
        let promise = Promise<Int>()
        promises.value.append(promise)
        return promise
      })
    workflow.start()
    task.cancel()
    #expect(promises.value[0].isCancelled)
    task.retry()
    #expect(promises.value.count == 2)
    promises.value[0].succeed(with: 1)
    promises.value[1].succeed(with: 2)
    #expect(task.result == 2)
  }

  @Test("a future that stands for another one is cancelled with the task, and so is the other one")
  func futureThatStandsForAnother() throws {
    let workflow = inlineWorkflow()
    let (first, second) = (Promise<Int>(), Promise<Int>())
    let task = try workflow.add(
      FutureWorkflowTask<Int>(name: "t") { _ in first.mapToFuture(on: .inline) { _ in second } })
    workflow.start()
    first.succeed(with: 1)
    task.cancel()
    #expect(second.isCancelled)
  }

  @Test("one given future serves every run, and is not cancelled with the task")
  func givenFuture() throws {
    let workflow = inlineWorkflow()
    let promise = Promise<Int>()
    let task = try workflow.add(FutureWorkflowTask(name: "t", future: promise))
    workflow.start()
    task.cancel()
    #expect(!promise.isCancelled)
    promise.succeed(with: 3)
    task.retry()
    #expect(task.result == 3)
  }

  @Test("an operation as work: run in its queue, its result taken, cancelled with the task")
  func operationAsWork() async throws {
    final class Adder: Operation, @unchecked Sendable {
      let queue = Box<OperationQueue?>(nil)
      override func main() { queue.value = OperationQueue.current }
    }
    let queue = OperationQueue()
    let workflow = Workflow(name: "w")
    let task = try workflow.add(
      OperationWorkflowTask<Adder, Bool>(name: "t", in: queue) { _ in
        Adder()
      } result: { operation in
        operation.queue.value === queue
      })
    let plain = try workflow.add(
      OperationWorkflowTask(name: "plain") { _ in BlockOperation {} }, prerequisites: task)
    #expect(try await workflow.run().isFinished)
    #expect(task.result == true && plain.result != nil)
    workflow.reset()
    #expect(try await workflow.run().isFinished)

    let (entered, operations) = (Event(), Box<[Operation]>([]))
    let long = try workflow.add(
      OperationWorkflowTask(name: "long", in: queue) { _ in
        let operation = BlockOperation()
        operation.addExecutionBlock { [weak operation] in
          entered.signal()
          while operation?.isCancelled == false { usleep(500) }
        }
        operations.value.append(operation)
        return operation
      })
    workflow.start()
    #expect(await entered.opened())
    long.cancel()
    #expect(operations.value[0].isCancelled && long.isCancelled)
    let bad = try workflow.add(
      OperationWorkflowTask<Operation, Int>(name: "bad") { _ in
        BlockOperation {}
      } result: { _ in
        throw TestError.first
      })
    bad.start()
    #expect(await eventually { bad.error as? TestError == .first })
  }

  @Test("an operation that has ended is not cancelled, and one that is not finished is")
  func operationIsNotCancelledAtItsEnd() async throws {
    final class Heard: BlockOperation, @unchecked Sendable {
      let cancellations: Counter
      init(_ cancellations: Counter) {
        self.cancellations = cancellations
        super.init()
      }
      override func cancel() {
        cancellations.add()
        super.cancel()
      }
    }
    let (cancellations, queue) = (Counter(), OperationQueue())
    let workflow = Workflow(name: "w")
    let task = try workflow.add(
      OperationWorkflowTask(name: "t", in: queue) { _ in Heard(cancellations) })
    #expect(try await workflow.run().isFinished)
    #expect(cancellations.value == 0)
    // Foundation removes the first operation a moment later.
    #expect(await eventually { queue.operationCount == 0 })
    task.reset()
    queue.isSuspended = true
    let outcome = workflow.start()
    #expect(await eventually { queue.operationCount == 1 })
    task.cancel()
    #expect(try await outcome.value == .cancelled([task]))
    #expect(cancellations.value == 1)
    queue.isSuspended = false
  }

  @Test("an operation of a task with a context of its own uses the workflow's queue")
  func queueOfWorkflow() async throws {
    let (queue, seen) = (OperationQueue(), Log<OperationQueue?>())
    let workflow = Workflow(name: "w", operationQueue: queue)
    let task = try workflow.add(
      OperationWorkflowTask(name: "t") { _ in
        BlockOperation { seen.append(OperationQueue.current) }
      })
    task.setContext(.inline)
    #expect(try await workflow.run().isFinished)
    #expect(seen.entries == [queue])
  }

  @Test("a cancelled operation cancels its task")
  func cancelledOperation() async throws {
    let workflow = Workflow(name: "w")
    let task = try workflow.add(
      OperationWorkflowTask(name: "t") { _ in
        let operation = BlockOperation {}
        operation.cancel()
        return operation
      })
    _ = try await workflow.run()
    #expect(task.isCancelled)
  }

  @Test("a task's end as a future: of this run, of the next, or at once")
  func taskAsFuture() async throws {
    let workflow = inlineWorkflow()
    let task = try workflow.add(OpenTask(name: "t"))
    let next = task.future
    let other = task.future
    other.cancel()
    workflow.start()
    #expect(!next.isFulfilled)
    task.finish(with: 1)
    #expect(try await next.value == 1)
    #expect(try await task.future.value == 1)
    task.reset()
    let failing = task.future
    task.reset()
    #expect(!failing.isFulfilled)
    task.start()
    task.fail(with: TestError.first)
    await #expect(throws: TestError.first) { try await failing.value }
    await #expect(throws: TestError.first) { try await task.future.value }
    task.retry()
    let cancelling = task.future
    task.cancel()
    #expect(cancelling.isCancelled && task.future.isCancelled)
  }

  @Test("the future of a task whose workflow goes is broken, and so is one outside")
  func brokenFuture() throws {
    let task = OpenTask(name: "t")
    let future: Future<Int>
    do {
      let workflow = inlineWorkflow()
      try workflow.add(task)
      future = task.future
    }
    for broken in [future, task.future, OpenTask().future] {
      guard case .brokenPromise? = broken.result?.failureValue as? ProperationsError else {
        Issue.record("\(broken)")
        return
      }
    }
  }

  @Test(
    "an operation that has run, or is in a queue, fails the task with an error that helps")
  func usedOperation() async throws {
    let operation = BlockOperation {}
    let workflow = Workflow(name: "w")
    let task = try workflow.add(OperationWorkflowTask(name: "t") { _ in operation })
    #expect(try await workflow.run().isFinished)
    workflow.reset()
    let error = try await workflow.run().errors[task]
    guard case .operationAlreadyEnqueued(of: task)? = error as? WorkflowError else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(
      error?.localizedDescription
        == "The operation of \"t\" is in a queue, or has run, already. "
        + "Make a new operation in each call of the closure.")

    let suspended = OperationQueue()
    suspended.isSuspended = true
    let queued = BlockOperation {}
    suspended.addOperation(queued)
    let byHand = BlockOperation {}
    byHand.start()
    // (Where nothing tells that a queue has it, Foundation stops the process.)
    #if canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN
      let recognised = [byHand]
    #else
      let recognised = [queued, byHand]
    #endif
    for operation in recognised {
      let task = try workflow.add(OperationWorkflowTask(name: "u") { _ in operation })
      task.start()
      #expect(await eventually { task.isFailed })
      #expect(!operation.isCancelled)
    }
    suspended.isSuspended = false
    #expect(await eventually { queued.isFinished })
  }

  #if canImport(Darwin) || PROPERATIONS_AS_ON_DARWIN
    @Test("As on Apple's platforms, nothing tells that a queue has the operation of a task")
    func queuedOperation() async {
      let suspended = OperationQueue()
      suspended.isSuspended = true
      let (queued, finished) = (BlockOperation {}, BlockOperation {})
      suspended.addOperation(queued)
      finished.start()
      #expect(!queued.isUsed && finished.isUsed)
      suspended.isSuspended = false
      #expect(await eventually { queued.isFinished })
    }
  #endif

  @Test("the attempts of a retried task that gives the same operation each time end in that error")
  func usedOperationInRetry() async throws {
    let operation = BlockOperation {}
    let workflow = Workflow(name: "w")
    let task = OperationWorkflowTask<Operation, Int>(name: "t") { _ in
      operation
    } result: { _ in
      throw TestError.first
    }
    task.retryPolicy = TaskRetryPolicy(attempts: 3)
    try workflow.add(task)
    let error = try await workflow.run().errors[task]
    guard case .operationAlreadyEnqueued(of: task)? = error as? WorkflowError else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  #if os(Linux) || os(macOS)
    @Test("a task cancelled while it makes a future as its operation: the future is cancelled")
    func futureOfCancelledRun() async {
      await #expect(processExitsWith: .success) {
        let workflow = Workflow(name: "w")
        let promise = Promise<Int>()
        let task = try workflow.add(
          OperationWorkflowTask<Promise<Int>, Void>(name: "t") { [weak workflow] _ in
            workflow?.cancel()
            return promise
          })
        let outcome = try await workflow.run()
        let isCancelled = await eventually { promise.isCancelled }
        if outcome != .cancelled([task]) || !isCancelled { exit(EXIT_FAILURE) }
      }
    }
  #endif
}
