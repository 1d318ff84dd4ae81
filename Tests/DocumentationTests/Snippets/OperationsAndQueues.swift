import Foundation
import Properations
import TestSupport
import Testing

@Suite("Operations and queues", .timeLimit(.minutes(5)), .oneAtATime)
struct OperationsAndQueuesSnippets {
  @Test("Depend on a future")
  func depend() async throws {
    let queue = queue(slots: 1)

    let picture = download(url)
    let tidy = BlockOperation { removeTemporaryFiles() }
    tidy.addDependency(picture)
    queue.addOperation(tidy)

    try await tidy.future.value
    #expect(picture.isFinished)
  }

  @Test("Put a promise in a queue")
  func promiseInQueue() async throws {
    let queue = queue(slots: 1)

    let answer = Promises.make(promising: Int.self, in: queue)
    let later = answer.mapToValue(on: queue) { $0 + 1 }

    answer.succeed(with: 41)
    #expect(try await later.value == 42)
  }
}
