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

  @Test("A queue waits for its promise")
  func dependency() async throws {
    let removals = Promises.make(promising: Void.self)
    @Sendable func removeTemporaryFiles() { removals.succeed() }

    // On a thread of its own, for it waits.
    let done = Promises.make(promising: Void.self)
    Thread.detachNewThread {
      let queue = OperationQueue()
      let upload = Promises.make(promising: Int.self, in: queue)

      let cleanUp = BlockOperation { removeTemporaryFiles() }
      cleanUp.addDependency(upload)
      queue.addOperation(cleanUp)

      upload.succeed(with: 200)
      queue.waitUntilAllOperationsAreFinished()

      done.succeed()
    }

    try await done.value
    #expect(removals.isFulfilled)
  }

  @Test("A job that occupies its queue")
  func blocking() async throws {
    @Sendable func requestGreeting(_ handler: @escaping @Sendable (String) -> Void) {
      DispatchQueue.global().async { handler("Hello") }
    }

    let serial = OperationQueue()
    serial.maxConcurrentOperationCount = 1

    let greeting = Promises.makeBlocking(in: serial, promising: String.self) { promise in
      requestGreeting { text in promise.succeed(with: text) }
    }

    #expect(try await greeting.value == "Hello")
  }

  @Test("An operation's future")
  func operationFuture() async throws {
    let shown = Promises.make(promising: Void.self)
    @MainActor func showIndex() { shown.succeed() }
    let queue = queue(slots: 1)

    let index = BlockOperation { rebuildIndex() }
    index.future.onSuccess { showIndex() }
    queue.addOperation(index)

    try await shown.value
    #expect(index.isFinished)
  }

  @Test("A queue that is shut down")
  func shuttingDown() async throws {
    let uploads = OperationQueue()
    let messages = OperationQueue()
    let upload = uploads.run { 1 }
    func log(_ text: String) { messages.addOperation {} }

    let left = try await uploads.shutDown(within: .seconds(10)).value
    for operation in left { log("Not finished: \(operation.name ?? "unnamed")") }

    #expect(left.isEmpty && uploads.isShutDown)
    #expect(try await upload.value == 1)
  }
}
