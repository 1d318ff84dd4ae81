import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("What a blocking promise keeps", .timeLimit(.minutes(5)), .oneAtATime)
struct BlockingPromiseLifetimeTests {
  enum Ending: CaseIterable {
    case succeed, fail, lose, cancelQueued, cancelRunning, settleOutside
  }

  @Test("Settled by its closure, or cancelled before, and held: keeps no context")
  func context() async {
    final class ImmediateContext: ExecutionContext {
      func execute(_ operation: Operation) { operation.start() }
    }
    for isCancelled in [false, true] {
      let queue = OperationQueue.make(isSuspended: true)
      var context: ImmediateContext? = ImmediateContext()
      let reference = WeakReference(context!)
      let promise = Promises.makeBlocking(
        in: queue, promising: Int.self, on: context!
      ) { promise in
        promise.succeed(with: 1)
      }
      context = nil
      if isCancelled { promise.cancel() }
      queue.isSuspended = false
      _ = await promise.completion
      #expect(await eventually { reference.isGone })
      withExtendedLifetime(promise) {}
    }
  }

  @Test("Each ending: nothing the closure captured stays alive", arguments: Ending.allCases)
  func captured(_ ending: Ending) async throws {
    let queue = OperationQueue.make(isSuspended: true)
    let started = Event()
    let canary = Protected<Canary?>(Canary())
    let reference = WeakReference(canary.value!)
    var promise: BlockingPromise<Int>? = Promises.makeBlocking(
      in: queue, promising: Int.self, on: .global()
    ) { [canary = canary.value!] promise in
      canary.sing()
      defer { started.signal() }
      switch ending {
      case .succeed: promise.succeed(with: 1)
      case .fail: throw Oops()
      case .lose: break
      case .cancelQueued, .cancelRunning, .settleOutside:
        promise.onCancellationRequest {
          canary.sing()
          withExtendedLifetime(promise) {}
        }
      }
    }
    canary.change { $0 = nil }
    let consumer = promise!.mapToValue(on: .inline) { $0 }
    if ending == .lose { promise = nil }
    if ending == .cancelQueued { promise?.cancel() }
    queue.isSuspended = false
    if ending != .cancelQueued { await started.opened() }
    if ending == .cancelRunning { promise?.cancel() }
    if ending == .settleOutside { promise?.succeed(with: 2) }
    _ = await consumer.completion
    #expect(await queue.isEmptyEventually())
    // The promise itself is still held here; what it captured is not.
    #expect(await eventually { reference.isGone })
    withExtendedLifetime(promise) {}
  }

  @Test("A promise made by hand and released: its closure goes with it, a waiter sees it broken")
  func released() async throws {
    var canary: Canary? = Canary()
    let reference = WeakReference(canary!)
    var promise: BlockingPromise<Int>? = BlockingPromise(on: .inline) {
      [canary] promise in
      canary?.sing()
      promise.succeed(with: 1)
    }
    canary = nil
    let consumer = promise!.mapToValue(on: .inline) { $0 }
    promise = nil
    #expect(reference.isGone)
    guard case .brokenPromise? = await consumer.completion.failureValue as? ProperationsError
    else {
      Issue.record("\(consumer)")
      return
    }
  }

  @Test("Nobody holds the promise or its queue: the closure runs all the same, then both go")
  func abandonedQueue() async throws {
    let ran = Event()
    var queue: OperationQueue? = OperationQueue.make()
    let queueReference = WeakReference(queue!)
    var promise: BlockingPromise<Int>? = Promises.makeBlocking(
      in: queue!, promising: Int.self, on: .global()
    ) {
      ran.signal()
      $0.succeed(with: 1)
    }
    let promiseReference = WeakReference(promise!)
    (queue, promise) = (nil, nil)
    await ran.opened()
    #expect(await eventually { promiseReference.isGone })
    #expect(await eventually { queueReference.isGone })
  }

  @Test("An abandoned queue with three that everybody loses: all break, the queue goes")
  func abandonedWithLost() async throws {
    var queue: OperationQueue? = OperationQueue.make()
    let reference = WeakReference(queue!)
    let consumers = (0..<3).map { _ in
      Promises.makeBlocking(in: queue!, promising: Int.self, on: .global()) { _ in }
        .mapToValue(on: .inline) { $0 }
    }
    queue = nil
    let results = await Promises.collectResults(consumers).completion.successValue
    #expect(results?.allSatisfy { $0.isFailure } == true)
    #expect(await eventually { reference.isGone })
  }

  @Test("Fifty running and settled on another thread: every promise is released")
  func everyPromise() async throws {
    let queue = OperationQueue.make(limit: 8)
    let references = (0..<50).map { number in
      WeakReference(
        Promises.makeBlocking(in: queue, promising: Int.self, on: .global()) {
          promise in
          DispatchQueue.global().async { promise.succeed(with: number) }
        })
    }
    #expect(await eventually { references.allSatisfy { $0.isGone } })
    #expect(await queue.isEmptyEventually())
  }

  /// A promise that occupies its queue, and that is cancelled while a queue takes it.
  private final class CancelledWhileJoining: Promise<Int>, @unchecked Sendable {
    // Sendable: nothing is stored.
    init() {
      super.init(
        occupyingQueueFor: .inline, name: "cancelled while it joins",
        at: Birthplace(#fileID, #line))
    }

    // The queue's operation copies the name.
    override var name: String? {
      get {
        cancel()
        return super.name
      }
      set { super.name = newValue }
    }
  }

  @Test("Cancelled while a queue takes it: released", arguments: [false, true])
  func cancelledWhileJoining(asBarrier isBarrier: Bool) async {
    let queue = OperationQueue.make()
    var promise: CancelledWhileJoining? = CancelledWhileJoining()
    let reference = WeakReference(promise!)
    #expect(promise!.join(queue, asBarrier: isBarrier))
    #expect(promise!.isCancelled && promise!.isFinished)
    promise = nil
    #expect(await eventually { reference.isGone })
    #expect(await queue.isEmptyEventually())
  }
}
