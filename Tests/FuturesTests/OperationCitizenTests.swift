import Foundation
import Futures
import TestSupport
import Testing

/// The ways in which a promise can come to be an operation somewhere.
enum Citizenship: CaseIterable, Sendable {
  case byHand
  case byFactory
  case madeOnQueue
  case addedToQueue
  case readinessReadBeforehand

  func make(_ queue: OperationQueue) -> Promise<Int> {
    switch self {
    case .byHand: return Promise<Int>()
    case .byFactory: return Promises.make(promising: Int.self)
    case .madeOnQueue: return Promises.make(promising: Int.self, in: queue)
    case .addedToQueue:
      let promise = Promise<Int>()
      queue.addOperation(promise)
      return promise
    case .readinessReadBeforehand:
      let promise = Promise<Int>()
      _ = promise.isReady
      return promise
    }
  }
}

enum Ending: CaseIterable, Sendable {
  case success
  case failure
  case cancellation

  func settle(_ promise: Promise<Int>) {
    switch self {
    case .success: promise.succeed(with: 1)
    case .failure: promise.fail(with: TestError.first)
    case .cancellation: promise.cancel()
    }
  }
}

@Suite("A promise as an operation", .timeLimit(.minutes(5)), .oneAtATime)
struct OperationCitizenTests {
  @Test(arguments: Citizenship.allCases, Ending.allCases)
  func `a settled promise starts its dependents, runs its completion block and lets waiters go`(
    _ citizenship: Citizenship, _ ending: Ending
  ) async {
    let queue = OperationQueue()
    let promise = citizenship.make(queue)
    let (completed, started, waited) = (Event(), Event(), Event())
    promise.completionBlock = { completed.signal() }
    let dependent = BlockOperation { started.signal() }
    dependent.addDependency(promise)
    let dependentsQueue = OperationQueue()
    dependentsQueue.addOperation(dependent)
    Thread {
      promise.waitUntilFinished()
      waited.signal()
    }.start()
    #expect(!promise.isFinished)
    #expect(!started.isOpen)
    ending.settle(promise)
    #expect(await completed.opened())
    #expect(await started.opened())
    #expect(await waited.opened())
    #expect(promise.isFinished)
    #expect(await eventually { queue.operationCount == 0 })
    #expect(await eventually { dependentsQueue.operationCount == 0 })
  }

  @Test(.guarantee(10), arguments: Citizenship.allCases, Ending.allCases)
  func `the completion block of a promise runs once`(
    _ citizenship: Citizenship, _ ending: Ending
  ) async {
    let queue = OperationQueue()
    let promise = citizenship.make(queue)
    let count = Counter()
    let completed = Event()
    promise.completionBlock = {
      count.add()
      completed.signal()
    }
    ending.settle(promise)
    promise.cancel()
    promise.succeed(with: 2)
    #expect(await completed.opened())
    #expect(await eventually { queue.operationCount == 0 })
    #expect(count.value == 1)
  }

  @Test(.guarantee(10)) func `a pending promise says pending in every property`() {
    let promise = Promise<Int>()
    #expect(!promise.isReady)
    #expect(!promise.isExecuting)
    #expect(!promise.isFinished)
    #expect(!promise.isCancelled)
    #expect(!promise.isFulfilled)
    #expect(promise.result == nil)
  }

  @Test(arguments: Ending.allCases)
  func `a promise in no queue is finished the moment it is settled`(_ ending: Ending) {
    let promise = Promise<Int>()
    ending.settle(promise)
    #expect(promise.isReady)
    #expect(!promise.isExecuting)
    #expect(promise.isFinished)
    #expect(promise.isFulfilled)
    #expect(promise.isCancelled == (ending == .cancellation))
  }

  @Test func `a promise added to a suspended queue is settled at once and finishes later`() async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let promise = Citizenship.addedToQueue.make(queue)
    let below = promise.mapToValue(on: .inline) { $0 + 1 }
    promise.succeed(with: 1)
    #expect(promise.isFulfilled)
    #expect(below.result?.successValue == 2)
    #expect(!promise.isFinished)
    queue.isSuspended = false
    #expect(await eventually { promise.isFinished && queue.operationCount == 0 })
  }

  @Test func `a promise made on a suspended queue finishes when it is settled`() async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let promise = Citizenship.madeOnQueue.make(queue)
    #expect(queue.operationCount == 1)
    promise.succeed(with: 1)
    #expect(promise.isFinished)
    queue.isSuspended = false
    #expect(await eventually { queue.operationCount == 0 })
  }

  @Test(arguments: [Citizenship.madeOnQueue, .addedToQueue])
  func `a promise in a queue occupies no slot while it is pending`(
    _ citizenship: Citizenship
  ) async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let promises = (0..<10).map { _ in citizenship.make(queue) }
    let ran = Event()
    queue.addOperation { ran.signal() }
    #expect(await ran.opened())
    for promise in promises { promise.succeed(with: 1) }
    #expect(await eventually { queue.operationCount == 0 })
    #expect(promises.allSatisfy { $0.isFinished })
  }

  @Test(arguments: [Citizenship.madeOnQueue, .addedToQueue])
  func `waiting for a queue waits for its pending promises`(_ citizenship: Citizenship) async {
    let queue = OperationQueue()
    let promises = (0..<10).map { _ in citizenship.make(queue) }
    let waited = Event()
    let wasFinished = Box(false)
    Thread {
      queue.waitUntilAllOperationsAreFinished()
      wasFinished.value = promises.allSatisfy { $0.isFinished }
      waited.signal()
    }.start()
    for (index, promise) in promises.enumerated() {
      #expect(!waited.isOpen)
      Ending.allCases[index % 3].settle(promise)
    }
    #expect(await waited.opened())
    #expect(wasFinished.value)
  }

  @Test(arguments: [Citizenship.madeOnQueue, .addedToQueue])
  func `cancelling a queue's operations settles its pending promises`(
    _ citizenship: Citizenship
  ) async {
    let queue = OperationQueue()
    let promises = (0..<10).map { _ in citizenship.make(queue) }
    let requests = Counter()
    for promise in promises { promise.onCancellationRequest { requests.add() } }
    let last = promises[9].mapToValue(on: .inline) { $0 }
    queue.cancelAllOperations()
    #expect(promises.allSatisfy { $0.isCancelled })
    #expect(last.isCancelled)
    #expect(requests.value == 10)
    #expect(await eventually { queue.operationCount == 0 })
  }

  @Test(arguments: [Citizenship.madeOnQueue, .addedToQueue])
  func `cancelling the operations of a suspended queue settles its pending promises`(
    _ citizenship: Citizenship
  ) async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let promise = citizenship.make(queue)
    queue.cancelAllOperations()
    #expect(promise.result?.failureValue as? ProperationsError == .cancelled)
    queue.isSuspended = false
    #expect(await eventually { promise.isFinished && queue.operationCount == 0 })
  }

  @Test func `cancelling a suspended queue's operations settles the links that wait in it`() async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let ran = Counter()
    let links = (0..<20).map { index in
      Promises.makeSucceeded(with: index).mapToValue(on: queue) { _ in ran.add() }
    }
    let below = links.map { $0.mapToValue(on: .inline) { $0 } }
    queue.cancelAllOperations()
    #expect(links.allSatisfy { $0.isCancelled })
    #expect(below.allSatisfy { $0.isCancelled })
    queue.isSuspended = false
    #expect(await eventually { queue.operationCount == 0 })
    #expect(ran.value == 0)
  }

  @Test func `a promise of a queue that is dropped leaves the queue empty`() async {
    let queue = OperationQueue()
    var promise: Promise<Int>? = Promises.make(promising: Int.self, in: queue)
    let below = promise?.mapToValue(on: .inline) { $0 }
    promise = nil
    #expect(await eventually { queue.operationCount == 0 })
    #expect(below?.isFulfilled == true)
  }

  @Test func `a queue that nobody holds goes when its promises have`() async {
    weak var gone: OperationQueue?
    let promise: Promise<Int>
    do {
      let queue = OperationQueue()
      gone = queue
      promise = Promises.make(promising: Int.self, in: queue)
    }
    promise.succeed(with: 1)
    #expect(await eventually { promise.isFinished })
    #expect(await eventually { gone == nil })
  }

  @Test func `a barrier waits for the promises made before it`() async {
    let queue = OperationQueue()
    let promise = Promises.make(promising: Int.self, in: queue)
    let wasFinished = Box<Bool?>(nil)
    let done = Event()
    queue.addBarrierBlock {
      wasFinished.value = promise.isFinished
      done.signal()
    }
    #expect(!done.isOpen)
    promise.succeed(with: 1)
    #expect(await done.opened())
    #expect(wasFinished.value == true)
  }

  @Test func `a barrier does not wait for the promises made after it`() async {
    let queue = OperationQueue()
    let before = Promises.make(promising: Int.self, in: queue)
    let done = Event()
    queue.addBarrierBlock { done.signal() }
    let after = Promises.make(promising: Int.self, in: queue)
    before.succeed(with: 1)
    #expect(await done.opened())
    after.succeed(with: 1)
    #expect(await eventually { queue.operationCount == 0 })
  }

  @Test(.guarantee(10), arguments: Citizenship.allCases)
  func `what finishes has a result, whatever thread looks when`(
    _ citizenship: Citizenship
  ) async {
    let queue = OperationQueue()
    let contradictions = Counter()
    let ended = await RaceHarness(threads: 3, rounds: 300).run { _ in
      citizenship.make(queue)
    } act: { promise, thread in
      if thread == 0 {
        promise.succeed(with: 1)
        return
      }
      for _ in 0..<20 {
        let finished = promise.isFinished
        if finished, promise.result == nil { contradictions.add() }
        if finished, promise.isExecuting { contradictions.add() }
        if finished, !promise.isReady { contradictions.add() }
      }
    }
    #expect(ended)
    #expect(contradictions.value == 0)
    #expect(await eventually { queue.operationCount == 0 })
  }

  @Test(arguments: [Citizenship.madeOnQueue, .addedToQueue])
  func `2,000 promises settled by one thread while another enqueues the next all finish`(
    _ citizenship: Citizenship
  ) async {
    let queue = OperationQueue()
    let promises = Log<Promise<Int>>()
    let previous = Box<Promise<Int>?>(nil)
    let ended = await RaceHarness(threads: 2, rounds: 2_000).run { _ in
      previous.value
    } act: { pending, thread in
      if thread == 0 {
        pending?.succeed(with: 1)
      } else {
        previous.value = citizenship.make(queue)
      }
    } check: { _, _ in
      if let promise = previous.value { promises.append(promise) }
    }
    previous.value?.succeed(with: 1)
    #expect(ended)
    #expect(await eventually { queue.operationCount == 0 })
    #expect(promises.entries.allSatisfy { $0.isFinished })
  }

  @Test(arguments: [Citizenship.byHand, .byFactory, .readinessReadBeforehand])
  func `starting a settled promise by hand does no harm`(_ citizenship: Citizenship) async {
    let promise = citizenship.make(OperationQueue())
    let count = Counter()
    promise.completionBlock = { count.add() }
    promise.succeed(with: 1)
    promise.start()
    #expect(promise.isFinished)
    #expect(await eventually { count.value == 1 })
  }

  @Test func `promises of a queue settled by 8 threads at once all finish`() async {
    let queue = OperationQueue()
    let ended = await RaceHarness(threads: 8, rounds: 500).run { _ in
      (0..<8).map { _ in Promises.make(promising: Int.self, in: queue) }
    } act: { (promises: [Promise<Int>], thread: Int) in
      promises[thread].succeed(with: 1)
    }
    #expect(ended)
    #expect(await eventually { queue.operationCount == 0 })
  }

  @Test func `starting a pending promise by hand does no harm`() async {
    let promise = Promise<Int>()
    promise.start()
    promise.start()
    #expect(!promise.isFinished)
    #expect(promise.result == nil)
    promise.succeed(with: 1)
    #expect(promise.isFinished)
    #expect(!promise.isExecuting)
  }

  @Test func `adding promises and waiting in one call returns when they are settled`() async {
    let queue = OperationQueue()
    let promises = (0..<3).map { _ in Promise<Int>() }
    let done = Event()
    Thread {
      queue.addOperations(promises, waitUntilFinished: true)
      done.signal()
    }.start()
    #expect(await eventually { queue.operationCount == 3 })
    for promise in promises { promise.succeed(with: 1) }
    #expect(await done.opened())
  }
}
