import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Blocking waits that could not end", .timeLimit(.minutes(5)), .oneAtATime)
struct WouldDeadlockTests {
  /// What waiting in an operation of a queue comes to; bounded, in case it
  /// would hang.
  private func wait(
    on queue: OperationQueue, within limit: Duration = Event.patience,
    for make: @escaping @Sendable (OperationQueue) throws -> Future<Int>
  ) async -> FutureResult<Int> {
    let outcome = Promises.make(promising: Int.self)
    queue.addOperation {
      outcome.fulfill(with: FutureResult { try make(queue).wait(timeout: limit) })
    }
    return await outcome.completion
  }

  private func expectDeadlock(_ result: FutureResult<Int>, named name: String) {
    guard case .wouldDeadlock(let queue)? = result.failureValue as? ProperationsError else {
      Issue.record("\(result)")
      return
    }
    #expect(queue.contains(name))
  }

  @Sendable private static func settling(_ promise: Promise<Int>) { promise.succeed(with: 1) }

  @Test("In an operation of the serial queue that the blocking promise sits in: throws, named")
  func sameQueue() async {
    let result = await wait(on: .make("tools")) { queue in
      Promises.makeBlocking(
        in: queue, promising: Int.self, on: .global(), Self.settling)
    }
    expectDeadlock(result, named: "tools")
  }

  @Test("For races in 40 layers, all for the own serial queue: throws, named")
  func layersOfRaces() async {
    let result = await wait(on: .make("tools")) { queue in
      var future = Promises.run(on: queue) { 1 }
      for _ in 0..<40 { future = Promises.race([future, future]) }
      return future
    }
    expectDeadlock(result, named: "tools")
  }

  @Test("For races in 40 layers, one of which another thread may end: waits")
  func layersOfRacesWithAWayOut() async {
    let promise = Promise<Int>()
    let result = await wait(on: .make("tools"), within: .milliseconds(1500)) { queue in
      var future = Promises.run(on: queue) { 1 }
      for _ in 0..<20 { future = Promises.race([future, future]) }
      future = Promises.race([future, promise])
      for _ in 0..<20 { future = Promises.race([future, future]) }
      return future
    }
    guard case .timedOut? = result.failureValue as? ProperationsError else {
      Issue.record("\(result)")
      return
    }
    promise.cancel()
  }

  @Test("The same, put there by addFuture: throws")
  func addedByFuture() async {
    let result = await wait(on: .make("tools")) { queue in
      let promise = BlockingPromise<Int>(on: .global(), Self.settling)
      try queue.addFuture(promise)
      return promise
    }
    expectDeadlock(result, named: "tools")
  }

  @Test("The same, put there by a plain addOperation: throws")
  func addedByOperation() async {
    let result = await wait(on: .make("tools")) { queue in
      let promise = BlockingPromise<Int>(on: .global(), Self.settling)
      queue.addOperation(promise)
      return promise
    }
    expectDeadlock(result, named: "tools")
  }

  @Test("For a future derived from it, three links below: throws")
  func derived() async {
    let result = await wait(on: .make("tools")) { queue in
      Promises.makeBlocking(
        in: queue, promising: Int.self, on: .global(), Self.settling
      )
      .mapToValue(on: .global()) { $0 }.mapToValue(on: .inline) { $0 }
      .recover(on: .inline) { _ in 0 }
    }
    expectDeadlock(result, named: "tools")
  }

  @Test("For a closure that queue.run put in the same serial queue: throws")
  func run() async {
    let result = await wait(on: .make("tools")) { queue in queue.run { 1 } }
    expectDeadlock(result, named: "tools")
  }

  @Test("For a barrier in the same serial queue: throws")
  func barrier() async {
    let result = await wait(on: .make("tools")) { queue in queue.run(barrier: true) { 1 } }
    expectDeadlock(result, named: "tools")
  }

  @Test("For the future of an operation that waits behind it in the same serial queue: throws")
  func futureOfOperation() async {
    let result = await wait(on: .make("tools")) { queue in
      let operation = BlockOperation {}
      queue.addOperation(operation)
      return operation.future.mapToValue(on: .inline) { 1 }
    }
    expectDeadlock(result, named: "tools")
  }

  @Test("In an operation of another queue, or of a concurrent one: waits, and gets the value")
  func allowed() async throws {
    let blocked = OperationQueue.make()
    let fromOther = await wait(on: .make("other")) { _ in
      Promises.makeBlocking(
        in: blocked, promising: Int.self, on: .global(), Self.settling)
    }
    #expect(fromOther.successValue == 1)
    let fromConcurrent = await wait(on: .make("wide", limit: 4)) { queue in
      Promises.makeBlocking(
        in: queue, promising: Int.self, on: .global(), Self.settling)
    }
    #expect(fromConcurrent.successValue == 1)
  }

  @Test("An ordinary pending promise in the same serial queue, settled elsewhere: gets the value")
  func ordinary() async {
    let result = await wait(on: .make()) { queue in
      let promise = Promises.make(promising: Int.self, in: queue)
      Thread.detachNewThread {
        usleep(20_000)
        promise.succeed(with: 1)
      }
      return promise
    }
    #expect(result.successValue == 1)
  }
}

@Suite("Blocking waits on the main queue", .timeLimit(.minutes(5)), .oneAtATime)
@MainActor
struct MainQueueWaitTests {
  /// Waits where async code may not.
  private func wait(_ future: Future<Int>) -> FutureResult<Int> {
    FutureResult { try future.wait(timeout: Event.patience) }
  }

  @Test("For a blocking promise whose closure needs the main queue: throws wouldDeadlock")
  func needsMain() async throws {
    let promise = Promises.makeBlocking(in: .make(), promising: Int.self) { $0.succeed(with: 1) }
    #expect(
      wait(promise).failureValue as? ProperationsError == .wouldDeadlock(queue: "the main queue"))
    #expect(try await promise.value == 1)
  }

  @Test("For a closure on the main actor, or on Dispatch's main queue: throws wouldDeadlock")
  func namedOtherwise() async throws {
    let futures = [
      Promises.run(on: MainActor.shared) { 1 },
      Promises.makeSucceeded(with: 1).mapToValue(on: .actor(MainActor.shared)) { $0 },
      Promises.makeSucceeded(with: 1).mapToValue(on: MainActor.shared) { actor, value in
        actor.preconditionIsolated()
        return value
      },
      Promises.run(on: DispatchQueue.main) { 1 },
    ]
    for future in futures {
      #expect(future.explain().steps[0].reasons.map(\.kind) == [.mainQueue])
      let error = wait(future).failureValue as? ProperationsError
      #expect(error == .wouldDeadlock(queue: "the main queue"))
    }
    for future in futures { #expect(try await future.value == 1) }
  }

  @Test("For an async closure that is isolated to the main actor: throws wouldDeadlock")
  func asyncClosureOnMain() async throws {
    let (queue, gate) = (OperationQueue.make(), Promise<Void>())
    let running = queue.run { () async throws -> Int in
      try await gate.value
      return 1
    }
    let waiting = queue.run { () async -> Int in 2 }
    for future in [running, waiting] {
      #expect(
        wait(future).failureValue as? ProperationsError == .wouldDeadlock(queue: "the main queue"))
    }
    gate.succeed()
    #expect(try await running.value == 1)
    #expect(try await waiting.value == 2)
  }

  @Test("For an async closure of a queue that has no isolation: gets the value")
  func asyncClosureElsewhere() {
    let future = OperationQueue.make().run { @concurrent () async -> Int in 1 }
    #expect(wait(future).successValue == 1)
  }

  #if os(Linux) || os(macOS)
    @Test("For the finish of such a closure that was cancelled: traps")
    func cancelledAsyncClosureOnMain() async {
      await #expect(processExitsWith: .failure) {
        let begun = Event()
        let future = await MainActor.run {
          OperationQueue().run { () async in
            begun.signal()
            try? await Promise<Void>().value
            try? await Task.sleep(for: .seconds(600))
          }
        }
        _ = await begun.opened()
        await MainActor.run {
          future.cancel()
          // A call that hangs ends the process as succeeded.
          Thread {
            Thread.sleep(forTimeInterval: 60)
            _exit(EXIT_SUCCESS)
          }.start()
          future.waitUntilFinished()
        }
        _exit(EXIT_SUCCESS)
      }
    }
  #endif

  @Test("For one whose closure runs elsewhere: gets the value")
  func runsElsewhere() {
    let promise = Promises.makeBlocking(
      in: .make(), promising: Int.self, on: .global()
    ) { $0.succeed(with: 1) }
    #expect(wait(promise).successValue == 1)
  }

  @Test("For one whose closure has run on main, settled from a thread: gets the value")
  func hasRunOnMain() async {
    let (ran, goOn) = (Event(), Event())
    let promise = Promises.makeBlocking(in: .make(), promising: Int.self) { promise in
      Thread.detachNewThread {
        goOn.wait()
        usleep(50_000)
        promise.succeed(with: 1)
      }
      ran.signal()
    }
    await ran.opened()
    goOn.signal()
    let result = wait(promise)
    #expect(result.successValue == 1, "\(result)")
  }

  #if os(Linux) || os(macOS)
    @Test("For a process on a queue: gets its status")
    func process() {
      let status = Process.shell("exit 3").runAsFuture(in: OperationQueue.make())
      #expect(FutureResult { try status.wait(timeout: Event.patience) }.successValue == 3)
    }
  #endif
}
