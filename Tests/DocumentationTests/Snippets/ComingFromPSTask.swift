import Foundation
import Properations
import TestSupport
import Testing

private enum NetworkingError: Error {
  case clientError(any Error)
}

private struct Post: Codable, Equatable, Sendable {
  let title: String
}

@MainActor
private final class Model {
  var posts: [Post] = []
}

@Sendable private func savedPosts() -> NonFailBlockProducerTask<[Post]> {
  NonFailBlockProducerTask { _, finish in finish(.success([Post(title: "saved")])) }
}

@Sendable private func loadPosts() async throws(NetworkingError) -> [Post] { [] }

@Suite("Coming from PSTask", .timeLimit(.minutes(5)), .oneAtATime)
struct ComingFromPSTaskSnippets {
  private let queue = TaskQueue()

  @Test("The opening example: what cannot be decoded is replaced, and assigned on the main queue")
  @MainActor
  func openingExample() async throws {
    let model = Model()

    let task =
      BlockProducerTask<Data?, NetworkingError>(qos: .userInitiated, priority: .veryHigh) {
        task, finish in
        let transfer = server.load(url) { data, error in
          if let error {
            finish(.failure(.provided(.clientError(error))))
          } else {
            finish(.success(data))
          }
        }
        task.onCancellationRequest { transfer.stop() }
      }
      .compactMap { $0 }
      .decode(type: [Post].self, decoder: JSONDecoder())
      .catch { _ in savedPosts() }
      .receive(on: .main)
      .assign(to: \.posts, on: model)

    queue.addTask(task)
    let shown = try await task.value

    #expect(shown == [Post(title: "saved")])
    #expect(await eventually { model.posts == shown })
  }

  @Test("Async work")
  func asyncWork() async throws {
    let posts = AsyncBlockProducerTask<[Post], NetworkingError> { task throws(NetworkingError) in
      try await loadPosts()
    }

    queue.addTask(posts)
    #expect(try await posts.value == [])
  }
}
