import Foundation
import Properations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private final class IndexOperation: Operation, @unchecked Sendable {
  // Sendable: `entries` is read after the operation has finished.
  private(set) var entries: [String] = []

  override func main() { entries = ["lighthouse"] }
}

@Suite("OperationBridge", .timeLimit(.minutes(5)), .oneAtATime)
struct OperationBridgeSnippets {
  @Test("Run one at a time")
  func oneAtATime() async throws {
    @Sendable func ask(_ question: String, _ handler: @escaping @Sendable (String) -> Void) {
      DispatchQueue.global().async { handler(question + "!") }
    }

    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1

    let first = Promises.makeBlocking(in: queue, promising: String.self) { promise in
      ask("Name?") { answer in promise.succeed(with: answer) }
    }
    let second = Promises.makeBlocking(in: queue, promising: String.self) { promise in
      ask("Town?") { answer in promise.succeed(with: answer) }
    }

    #expect(try await second.value == "Town?!")
    #expect(first.result?.successValue == "Name?!")
  }

  @Test("Make a future of an operation")
  func operation() async throws {
    let queue = queue(slots: 1)

    let index = IndexOperation()
    let count = Promises.make(awaitingCompletionOf: index) { index in index.entries.count }
    queue.addOperation(index)

    #expect(try await count.value == 1)

    index.cancel(onFailureOf: count)
    #expect(!index.isCancelled)
  }

  @Test("Run closures in a queue")
  func closures() async throws {
    let queue = queue(slots: 2)

    let total = queue.run { try countWords() }
    let afterAll = queue.run(barrier: true) { closeFiles() }

    try await afterAll.value
    #expect(total.result?.successValue == 3)
  }

  #if os(Linux) || os(macOS)
    @Test("Run a program")
    func program() async throws {
      let queue = queue(slots: 1)

      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["true"]
      let succeeded = process.runAsFuture(in: queue).ensure(on: .inline) { status in status == 0 }

      #expect(try await succeeded.value == 0)
    }
  #endif

  /// Compiled only: there is no network in a test.
  func network() async throws {
    let profile = URLSession.shared.dataFuture(from: url)
      .mapToValue(on: .global()) { data in try JSONDecoder().decode(Profile.self, from: data) }
    _ = profile

    let (data, response) = try await URLSession.shared.dataFuture(from: url).value
    _ = (data, response)
  }
}
