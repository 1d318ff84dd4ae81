import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Names that have been replaced", .timeLimit(.minutes(5)), .oneAtATime)
struct DeprecatedNamesTests {
  private let queue: OperationQueue = {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    return queue
  }()

  @available(*, deprecated)
  @Test("makeBlocking(on:) occupies the queue until the promise is settled")
  func blocking() async throws {
    let first = Promises.makeBlocking(
      on: queue, promising: Int.self, executionContext: .inline
    ) { _ in }
    let second = Promises.makeBlocking(on: queue, promising: Int.self) { promise in
      MainActor.assertIsolated()
      promise.succeed(with: 2)
    }
    #expect(await eventually { first.isExecuting })
    #expect(!second.isFulfilled)
    first.succeed(with: 1)
    #expect(try await first.value == 1)
    #expect(try await second.value == 2)
  }

  @available(*, deprecated)
  @Test("executionContext: says where the closure runs, as on: does")
  func executionContext() async throws {
    let promises = [
      Promises.makeBlocking(in: queue, promising: Int.self, executionContext: .inline) {
        $0.succeed(with: 1)
      },
      Promise<Int>.makeBlocking(in: queue, executionContext: .inline) { $0.succeed(with: 2) },
      BlockingPromise<Int>(name: "three", executionContext: .inline) { $0.succeed(with: 3) },
    ]
    try queue.addFuture(promises[2])
    #expect(try await Promises.collect(promises).value == [1, 2, 3])
    #expect(promises[2].name == "three")
  }

  @available(*, deprecated)
  @Test("enqueue puts a future in a queue, once, in both forms")
  func enqueue() throws {
    let (first, second) = (Promise<Int>(), Promise<Int>())
    try queue.enqueue(first)
    #expect(try second.enqueue(on: queue) === second)
    #expect(throws: ProperationsError.self) { try queue.enqueue(second) }
    #expect(throws: ProperationsError.self) { try first.enqueue(on: queue) }
    queue.cancelAllOperations()
    #expect(first.isCancelled && second.isCancelled)
  }

  #if os(Linux) || os(macOS)
    @available(*, deprecated)
    @Test("runAsFuture(on:) gives the exit status")
    func process() async throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", "exit 3"]
      #expect(try await process.runAsFuture(on: queue).value == 3)
    }
  #endif
}
