import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

private enum Tracing {
  @TaskLocal static var span = "none"
}

@Suite("Task-locals in the closures of blocking promises", .timeLimit(.minutes(5)), .oneAtATime)
struct CarriedTaskLocalsOfBlockingPromiseTests {
  @Test("The closure has the values of the place where the promise was made")
  func made() async throws {
    Promises.carry(Tracing.$span)
    let queue = OperationQueue.make(isSuspended: true)
    let promise = Tracing.$span.withValue("made") {
      Promises.makeBlocking(in: queue, promising: String.self, on: .global()) {
        $0.succeed(with: Tracing.span)
      }
    }
    queue.isSuspended = false
    #expect(try await promise.value == "made")
  }
}
