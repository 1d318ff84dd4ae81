#if !canImport(Darwin)

  import Foundation
  import Futures
  import OperationBridge
  import TestSupport
  import Testing

  /// Futures that a queue gets as operations while their closures run. (On Apple's platforms
  /// Foundation refuses operations that execute.)
  @Suite("A queue gets a future whose closure runs", .timeLimit(.minutes(5)), .oneAtATime)
  struct AddedWhileRunningTests {
    /// How a queue gets the future.
    enum Door: CaseIterable, Sendable { case asFuture, asOperation, asOneOfOperations }

    /// How the future settles.
    enum End: CaseIterable, Sendable { case succeeds, fails, isCancelled }

    private struct Failure: Error {}

    /// Makes a future whose closure runs until the gate opens.
    private func running(
      until gate: Event, _ end: @escaping @Sendable (Int) throws -> Int = { $0 }
    ) async -> Future<Int> {
      let (begun, promise) = (Event(), Promise<Int>())
      let future = promise.mapToValue(on: DispatchQueue(label: "closure")) { value in
        begun.signal()
        gate.wait()
        return try end(value)
      }
      promise.succeed(with: 1)
      #expect(await begun.opened())
      return future
    }

    @Test(
      "The future finishes when the closure has returned, and its slot goes to the next operation",
      arguments: Door.allCases, End.allCases)
    func finishes(_ door: Door, _ end: End) async throws {
      let gate = Event()
      let future = await running(until: gate) { value in
        if end == .fails { throw Failure() }
        return value
      }
      let (queue, hasRun) = (OperationQueue(), Event())
      queue.maxConcurrentOperationCount = 1
      switch door {
      case .asFuture: try queue.addFuture(future)
      case .asOperation: queue.addOperation(future)
      case .asOneOfOperations: queue.addOperations([future], waitUntilFinished: false)
      }
      queue.addOperation { hasRun.signal() }
      if end == .isCancelled { future.cancel() }
      #expect(!future.isFinished)
      gate.signal()
      #expect(await eventually { future.isFinished })
      #expect(await hasRun.opened())
      #expect(await eventually { queue.operationCount == 0 })
    }

    @Test("It is cancelled: the closure, which still runs, takes no slot of the queue")
    func takesNoSlot() async throws {
      let gate = Event()
      let future = await running(until: gate)
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      queue.addOperation(future)
      future.cancel()
      for number in 0..<3 { #expect(try await queue.run { number }.value == number) }
      #expect(!future.isFinished)
      gate.signal()
      #expect(await eventually { future.isFinished && queue.operationCount == 0 })
    }

    @Test("The closure has returned another future: the first one finishes after the second")
    func waitsForInner() async {
      let (begun, gate, promise, inner) = (Event(), Event(), Promise<Int>(), Promise<Int>())
      let future = promise.mapToFuture(on: DispatchQueue(label: "closure")) { _ in
        begun.signal()
        gate.wait()
        return inner
      }
      promise.succeed(with: 1)
      #expect(await begun.opened())
      let queue = OperationQueue()
      queue.addOperations([future], waitUntilFinished: false)
      gate.signal()
      #expect(await eventually { !future.isExecuting || future.isFinished })
      #expect(!future.isFinished)
      inner.succeed(with: 2)
      #expect(await eventually { future.isFinished && queue.operationCount == 0 })
      #expect((try? future.result?.get()) == 2)
    }
  }

#endif
