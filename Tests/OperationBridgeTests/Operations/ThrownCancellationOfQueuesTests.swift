import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

/// `CancellationError`, thrown by a closure of a queue or of an operation, is a
/// cancellation, as the library's own error is.
@Suite("Cancellation thrown by closures of queues", .timeLimit(.minutes(5)), .oneAtATime)
struct ThrownCancellationOfQueuesTests {
  /// A way to make a future whose closure throws.
  struct Maker: Sendable {
    let name: String
    let make: @Sendable (OperationQueue, any Error) -> Future<Int>

    static let all: [Maker] = [
      Maker(name: "queue.run") { queue, error in queue.run { throw error } },
      Maker(name: "queue.run(barrier:)") { queue, error in
        queue.run(barrier: true) { throw error }
      },
      Maker(name: "makeBlocking") { queue, error in
        Promises.makeBlocking(in: queue, promising: Int.self, on: .inline) { _ in
          throw error
        }
      },
      Maker(name: "makeBlocking in the queue itself") { queue, error in
        Promises.makeBlocking(in: queue, promising: Int.self, on: queue) { _ in
          throw error
        }
      },
      Maker(name: "make(awaitingCompletionOf:)") { queue, error in
        let operation = BlockOperation {}
        queue.addOperation(operation)
        return Promises.make(awaitingCompletionOf: operation, on: .inline) { _ in throw error }
      },
      Maker(name: "make(awaitingCompletionOf:) on the main queue") { queue, error in
        let operation = BlockOperation {}
        queue.addOperation(operation)
        return Promises.make(awaitingCompletionOf: operation) { _ in throw error }
      },
    ]
  }

  @Test("The library's own error thrown: the future is cancelled, recover lets it pass")
  func ownError() async {
    for maker in Maker.all {
      let future = maker.make(OperationQueue.make(), ProperationsError.cancelled)
      let recovered = future.recover(on: .inline) { _ in -1 }
      let result = await recovered.completion
      #expect(result.failureValue as? ProperationsError == .cancelled, "\(maker.name)")
      #expect(future.isCancelled, "\(maker.name)")
      #expect(future.result?.failureValue as? ProperationsError == .cancelled, "\(maker.name)")
    }
  }

  @Test("CancellationError thrown: the future is cancelled, recover lets it pass")
  func cancellationError() async {
    for maker in Maker.all {
      let future = maker.make(OperationQueue.make(), CancellationError())
      let recovered = future.recover(on: .inline) { _ in -1 }
      let result = await recovered.completion
      #expect(result.failureValue as? ProperationsError == .cancelled, "\(maker.name)")
      #expect(future.isCancelled, "\(maker.name)")
      #expect(future.result?.failureValue as? ProperationsError == .cancelled, "\(maker.name)")
    }
  }

  @Test("CancellationError thrown by a closure of a queue: the queue goes on")
  func queueGoesOn() async throws {
    for maker in Maker.all {
      let queue = OperationQueue.make()
      #expect(await maker.make(queue, CancellationError()).completion.isFailure, "\(maker.name)")
      #expect(try await queue.run { 1 }.value == 1)
      #expect(await queue.isEmptyEventually())
    }
  }
}
