import Foundation
import Properations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The snippets of the documentation comments in `Sources/OperationBridge`.

private final class Render: Operation, @unchecked Sendable {
  // Sendable: no state.
  func images() throws -> [Picture] { [.placeholder] }
}

#if os(Linux) || os(macOS)
  private func makeProcess() -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["true"]
    return process
  }
#endif

@Suite("Comments of OperationBridge", .timeLimit(.minutes(5)), .oneAtATime)
struct OperationBridgeComments {
  #if os(Linux) || os(macOS)
    @Test("BlockingPromise: one process at a time")
    func blockingPromise() async throws {
      let process = makeProcess()

      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      let status = Promises.makeBlocking(in: queue, promising: Int32.self) { promise in
        process.terminationHandler = { promise.succeed(with: $0.terminationStatus) }
        try process.run()
      }
      #expect(try await status.value == 0)
    }
  #endif

  @Test("make(awaitingCompletionOf:): what an operation has made")
  func outcome() async throws {
    let queue = queue(slots: 1)
    let render = Render()

    let thumbnails = Promises.make(awaitingCompletionOf: render, on: .global()) { render in
      try render.images()
    }
    queue.addOperation(render)
    #expect(try await thumbnails.value == [.placeholder])
  }

  #if os(Linux) || os(macOS)
    @Test("runAsFuture: an exit status")
    func exitStatus() async throws {
      let queue = queue(slots: 1)
      let process = makeProcess()

      let succeeded =
        process.runAsFuture(in: queue).ensure { $0 == 0 }
      #expect(try await succeeded.value == 0)
    }
  #endif

  @Test("queue.run: async closures in the slots of a queue")
  func asyncRun() async throws {
    let pictures = ["a", "b"]
    @Sendable func upload(_ picture: String) async throws -> Int { picture.count }

    let uploads = OperationQueue()
    uploads.maxConcurrentOperationCount = 4
    let receipts = pictures.map { picture in
      uploads.run { try await upload(picture) }
    }
    #expect(try await Promises.collect(receipts).value == [1, 1])
  }

  @Test("queue.run(after:): an async closure behind the futures of others")
  func asyncRunAfter() async throws {
    let files = ["a", "bb"]
    @Sendable func read(_ file: String) async throws -> Int { file.count }
    @Sendable func buildIndex() async throws -> Int { 3 }
    let disk = OperationQueue()

    let parts = files.map { file in disk.run { try await read(file) } }
    let index = disk.run(after: parts) { try await buildIndex() }
    #expect(try await index.value == 3)
  }

  /// Compiled only: there is no network in a test.
  func dataFuture() {
    let profile =
      URLSession.shared.dataFuture(from: url)
      .mapToValue(on: .global()) { try JSONDecoder().decode(Profile.self, from: $0) }
    _ = profile
  }
}
