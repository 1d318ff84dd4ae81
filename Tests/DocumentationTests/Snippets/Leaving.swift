import Foundation
import Properations
import TestSupport
import Testing

private enum WithFutures {
  static func thumbnail(of url: URL) -> Future<Picture> {
    func thumbnail(of url: URL) -> Future<Picture> {
      download(url)
        .compactMapToValue(on: .global()) { data in Picture(data)?.scaled(to: 64) }
        .recover { _ in .placeholder }
    }

    return thumbnail(of: url)
  }
}

private func loadThumbnail(of url: URL) async throws -> Picture {
  func loadThumbnail(of url: URL) async throws -> Picture {
    do {
      let data = try await download(url).value(onTaskCancellation: .cancelFuture)
      return Picture(data)?.scaled(to: 64) ?? .placeholder
    } catch let error where !(error is CancellationError) {
      return .placeholder
    }
  }

  return try await loadThumbnail(of: url)
}

private func thumbnail(of url: URL) -> Future<Picture> {
  func thumbnail(of url: URL) -> Future<Picture> {
    Promises.async { try await loadThumbnail(of: url) }
  }

  return thumbnail(of: url)
}

private func load(_ url: URL) async throws -> Data {
  func load(_ url: URL) async throws -> Data {
    try await withCheckedThrowingContinuation { continuation in
      server.load(url) { data, error in
        if let data {
          continuation.resume(returning: data)
        } else {
          continuation.resume(throwing: error ?? ServerError.noData)
        }
      }
    }
  }

  return try await load(url)
}

private func loadThumbnails(of urls: [URL], limit: Int) async throws -> [Picture] {
  func loadThumbnails(of urls: [URL], limit: Int) async throws -> [Picture] {
    try await withThrowingTaskGroup(of: (Int, Picture).self) { group in
      var pictures = [Picture](repeating: .placeholder, count: urls.count)
      for (index, url) in urls.enumerated() {
        if index >= limit, let (done, picture) = try await group.next() {
          pictures[done] = picture
        }
        group.addTask { (index, try await loadThumbnail(of: url)) }
      }
      for try await (done, picture) in group { pictures[done] = picture }
      return pictures
    }
  }

  return try await loadThumbnails(of: urls, limit: limit)
}

@Suite("Leaving", .timeLimit(.minutes(5)), .oneAtATime)
struct LeavingSnippets {
  @Test("Before the first step, and after the second: the same picture")
  func thumbnails() async throws {
    #expect(try await WithFutures.thumbnail(of: url).value == Picture(width: 64))

    let picture = try await thumbnail(of: url).value(onTaskCancellation: .cancelFuture)

    #expect(picture == Picture(width: 64))
  }

  @Test("A promise becomes a continuation")
  func continuation() async throws {
    #expect(try await load(url) == Data("/lighthouse".utf8))
  }

  @Test("What joins futures becomes async let, or a task group with a limit")
  func joining() async throws {
    async let left = loadThumbnail(of: url)
    async let right = loadThumbnail(of: other)
    let both = try await [left, right]

    #expect(both == [Picture(width: 64), Picture(width: 64)])
    #expect(try await loadThumbnails(of: [url, other, url], limit: 2).count == 3)
  }
}
