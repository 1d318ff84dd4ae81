import Foundation
import Properations
import TestSupport
import Testing

private enum Wrapped {
  static let watermark = Data("!".utf8)

  static func chain(saved: Promise<Void>) {
    func save(_ data: Data) -> Future<Void> {
      Promises.wrap { handler in server.store(data, then: handler) }
    }
    @MainActor func showSaved() { saved.succeed() }

    load(url)
      .mapToValue(on: .global()) { data in data + watermark }
      .mapToFuture { data in save(data) }
      .onSuccess { showSaved() }
      .onFailure { error in show(error) }
  }
}

extension Wrapped {
  static func load(_ url: URL) -> Future<Data> {
    func load(_ url: URL) -> Future<Data> {
      Promises.withResolver(promising: Data.self) { resolver in
        let transfer = server.load(url) { data, error in
          if let data { resolver.succeed(with: data) }
          if let error { resolver.fail(with: error) }
        }
        resolver.onCancellationRequest { transfer.stop() }
      }
    }

    return load(url)
  }
}

private struct Client {
  func load(_ url: URL) -> Future<Data> { Wrapped.load(url) }

  func load(_ url: URL, then handler: @escaping @MainActor (FutureResult<Data>) -> Void) {
    load(url).onCompletion(perform: handler)
  }
}

@Suite("Coming from completion handlers", .timeLimit(.minutes(5)), .oneAtATime)
struct ComingFromCompletionHandlersSnippets {
  @Test("Wrap a function")
  func wrap() async throws {
    let data = Promises.wrap { handler in server.load(url, then: handler) }
    #expect(try await data.value.count == 11)
  }

  @Test("Steps instead of a pyramid")
  func steps() async throws {
    let saved = Promises.make(promising: Void.self)
    Wrapped.chain(saved: saved)
    try await saved.value
  }

  @Test("Offer handlers to others")
  func offerHandlers() async throws {
    let loaded = Promises.make(promising: Data.self)
    Client().load(url) { result in loaded.fulfill(with: result) }
    #expect(try await loaded.value.count == 11)
  }
}
