import Foundation
import Properations
import TestSupport
import Testing

private struct Page: Sendable {
  let title: String
}

private func page(at url: URL) async throws -> Page { Page(title: url.lastPathComponent) }

private func summarise(_ data: Data) async -> String { "\(data.count) bytes" }

private func load(_ url: URL) -> Future<Picture> { download(url).compactMapToValue { Picture($0) } }

@Suite("Async and await", .timeLimit(.minutes(5)), .oneAtATime)
struct AsyncAwaitSnippets {
  @Test("Await the result")
  func awaitTheResult() async {
    func show(_ data: Data) { #expect(data.count == 11) }
    func show(_ error: any Error) { Issue.record(error) }

    switch await download(url).completion {
    case .success(let data): show(data)
    case .failure(let error): show(error)
    }
  }

  @Test("A task that is cancelled takes its future along")
  func cancelTogether() async throws {
    let picture = try await load(url).value(onTaskCancellation: .cancelFuture)
    #expect(picture.width == 1100)
  }

  @Test("A future of async work")
  func asyncWork() async throws {
    let title = Promises.async { try await page(at: url).title }
    #expect(try await title.value == "lighthouse")

    let summary = download(url)
      .mapToFuture(on: .inline) { data in Promises.async { await summarise(data) } }
      .timeout(after: .seconds(5), fallback: "No summary in time")
    #expect(try await summary.value == "11 bytes")
  }
}
