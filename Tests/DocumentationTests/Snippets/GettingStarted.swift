import Foundation
import Properations
import TestSupport
import Testing

private enum ReturningAFuture {
  static func download(_ url: URL) -> Future<Data> {
    func download(_ url: URL) -> Future<Data> {
      let promise = Promises.make(promising: Data.self)
      server.load(url) { data, error in
        if let data {
          promise.succeed(with: data)
        } else {
          promise.fail(with: error ?? ServerError.noData)
        }
      }
      return promise
    }

    return download(url)
  }
}

@Suite("Getting started", .timeLimit(.minutes(5)), .oneAtATime)
struct GettingStartedSnippets {
  @Test("Return a future")
  func returnAFuture() async throws {
    #expect(try await ReturningAFuture.download(url).value == Data("/lighthouse".utf8))

    let file = URL(fileURLWithPath: #filePath)
    let length = Promises.run(on: .global()) { try Data(contentsOf: file).count }
    #expect(try await length.value > 0)
  }

  @Test("A step that is asynchronous itself")
  func nextStep() async throws {
    let picture = search("lighthouse")
      .mapToFuture(on: .inline) { url in download(url) }
      .compactMapToValue(on: .global()) { data in Picture(data) }
    #expect(try await picture.value == Picture(width: 1100))
  }

  @Test("Several futures")
  func severalFutures() async throws {
    let shown = Promises.make(promising: URL.self)
    @MainActor func show(_ data: Data, _ url: URL) { shown.succeed(with: url) }

    Promises.combine(download(url), search("harbour"))
      .onSuccess { data, harbour in show(data, harbour) }
    #expect(try await shown.value.path == "/harbour")

    let pictures = Promises.makeSucceeded(with: urls)
      .mapElementsToFuture(on: .inline, maxConcurrent: 4) { url in download(url) }
      .compactMapElementsToValue(on: .global()) { data in Picture(data) }
    #expect(try await pictures.value.map(\.width) == [1100, 800])
  }

  @Test("Limit the time and try again")
  func tryAgain() async throws {
    let policy = RetryPolicy(
      attempts: 4,
      delay: .exponential(.milliseconds(100), factor: 2, maximum: .seconds(5)),
      retryIf: { error in !(error is CocoaError) })

    let patient = Promises.retry(policy, on: .inline) { attempt in
      download(url).timeout(after: .seconds(10))
    }
    #expect(try await patient.value.count == 11)
  }

  @Test("Get the value out")
  func getTheValueOut() async throws {
    let data = try await download(url).value
    #expect(data.count == 11)
  }
}
