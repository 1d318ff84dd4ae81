import Foundation
import Properations
import TestSupport
import Testing

// The snippets of the documentation comments of what repeats, chooses and streams.

private struct Cursor: Sendable {
  var position: Int
  static let start = Cursor(position: 0)
}

private struct ListPage: Sendable {
  var total: Int
  var next: Cursor?
}

private func fetchPage(at cursor: Cursor) -> Future<ListPage> {
  let position = cursor.position + 1
  return Promises.makeSucceeded(
    with: ListPage(total: position, next: position < 3 ? Cursor(position: position) : nil))
}

@MainActor
private final class Table {
  var rows: [Int: Bool] = [:]
  func setRow(_ index: Int, to result: FutureResult<Data>) { rows[index] = result.isSuccess }
}

@Suite("Comments about repetition and choice", .timeLimit(.minutes(5)), .oneAtATime)
struct RepetitionComments {
  private let downloads = urls.map { fetch($0) }

  @Test("loop: pages")
  func pages() async throws {
    let total = Promises.loop(Cursor.start, on: .global()) { cursor in
      fetchPage(at: cursor).mapToValue(on: .inline) { page in
        page.next.map { .next($0) } ?? .done(page.total)
      }
    }
    #expect(try await total.value == 3)
  }

  @Test("reduce: a size")
  func size() async throws {
    let size = Promises.reduce(downloads, 0, on: .inline) { size, data in size + data.count }
    #expect(try await size.value == 19)
  }

  @Test("traverse: some pages at a time")
  func traverse() async throws {
    let pages = Promises.traverse(urls, on: .global(), maxConcurrent: 4) { fetch($0) }
    #expect(try await pages.value.count == 2)
  }

  @Test("find: a mirror")
  func find() async throws {
    let mirrors = urls
    @Sendable func isReachable(_ url: URL) -> Future<Bool> {
      Promises.makeSucceeded(with: url == other)
    }
    let mirror = Promises.find(in: mirrors, on: .global()) { isReachable($0) }
    #expect(try await mirror.value == other)
  }

  @Test("first: a quorum")
  @MainActor
  func quorum() async throws {
    let replicas = downloads
    var shown: [Int] = []
    func show(_ answer: Data, from index: Int) { shown.append(index) }

    let quorum = Promises.first(2, of: replicas).onSuccess { answers in
      for (index, answer) in answers { show(answer, from: index) }
    }
    _ = try await quorum.mapToVoid().value
    #expect(await eventually { shown.sorted() == [0, 1] })
  }

  @Test("lazy: an index")
  func lazy() async throws {
    let index = Promises.lazy(on: .global()) { fetch(indexURL) }
    // Nothing is fetched yet, and nothing at all if no code asks.
    index.onSuccess { show($0) }
    #expect(try await !index.value.isEmpty)
  }

  @Test("hedge: mirrors")
  func hedge() async throws {
    let mirrors = urls
    let page = Promises.hedge(after: .milliseconds(300), attempts: 3, on: .global()) { attempt in
      fetch(mirrors[(attempt - 1) % mirrors.count])
    }
    #expect(try await !page.value.isEmpty)
  }

  @Test("select: mirrors")
  @MainActor
  func select() async throws {
    let mirrors = urls
    let compared = Promises.make(promising: Int.self)
    func show(_ result: FutureResult<Data>) {}
    func compare(_ rest: [Future<Data>]) { compared.succeed(with: rest.count) }

    let first = Promises.select(mirrors.map(fetch)).onSuccess { selection in
      show(selection.result)
      compare(selection.rest)
    }
    #expect(try await compared.value == mirrors.count - 1)
    #expect(try await first.value.rest.count == mirrors.count - 1)
  }

  @Test("completions: rows of a table")
  @MainActor
  func completions() async {
    let table = Table()
    for await (index, result) in Promises.completions(of: downloads) {
      table.setRow(index, to: result)
    }
    #expect(table.rows == [0: true, 1: true])
  }

  @Test("firstFuture: a message")
  func message() async throws {
    let messages = AsyncStream { continuation in
      continuation.yield("hello")
      continuation.finish()
    }
    let first = messages.firstFuture().timeout(after: .seconds(5))
    #expect(try await first.value == "hello")
  }
}
