import Foundation
import Properations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The snippets of the documentation comments in `Sources/Futures`.

/// Stands in for Apple's audio framework.
private enum AVAudioApplication {
  static func requestRecordPermission(completionHandler: @escaping @Sendable (Bool) -> Void) {
    completionHandler(true)
  }
}

let granted = Promises.wrap { AVAudioApplication.requestRecordPermission(completionHandler: $0) }

/// Sends nothing, and forgets its handler.
private struct Connection {
  func receive(_ handler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
    handler(nil, ServerError.noData)
  }
}

/// Gets two pieces of data.
private final class Feed: Sendable {
  let handler = Box<(@Sendable (Data) -> Void)?>(nil)
  var onData: (@Sendable (Data) -> Void)? {
    get { handler.value }
    set { handler.value = newValue }
  }
}

private struct Page: Sendable, Equatable {
  let header: String
  let body: String
  init(_ header: String, _ body: String) { (self.header, self.body) = (header, body) }
}

struct Delayed: ExecutionContext {
  let queue: DispatchQueue
  func execute(_ operation: Operation) {
    queue.asyncAfter(deadline: .now() + 0.1) { operation.start() }
  }
}

@Suite("Comments of Futures", .timeLimit(.minutes(5)), .oneAtATime)
struct FuturesComments {
  @Test("Future: a title")
  func title() async throws {
    func title(of url: URL) -> Future<String> {
      fetch(url)
        .compactMapToValue(on: .global()) { String(data: $0, encoding: .utf8) }
        .recover { _ in "untitled" }
    }
    #expect(try await title(of: url).value == "/lighthouse")
  }

  @Test("Combining, replacing what is missing, and a pair of future and resolver")
  func conveniences() async throws {
    let (header, body) = (
      Promises.makeSucceeded(with: "head"), Promises.makeSucceeded(with: "body")
    )
    let page = header.and(body).mapToValue { header, body in Page(header, body) }
    #expect(try await page.value == Page("head", "body"))
    let nickname = Promises.makeSucceeded(with: nil as String?)
    let name = nickname ?? "nameless"
    #expect(try await name.value == "nameless")
    let connection = Feed()
    func receive() -> Future<Data> {
      let (future, resolver) = Promises.makeResolver(promising: Data.self)
      connection.onData = { resolver.succeed(with: $0) }
      return future
    }
    let received = receive()
    connection.onData?(Data([1]))
    #expect(try await received.value == Data([1]))
  }

  @Test("A handler of three arguments")
  func threeArguments() {
    @Sendable func show(_ data: Data, _ response: URLResponse) {}
    func load(_ url: URL) {
      let page = Promises.wrap {
        URLSession.shared.dataTask(with: url, completionHandler: $0).resume()
      }
      page.onSuccess { data, response in show(data, response) }
    }
    // (Only compiled: there is no server.)
    _ = load
  }

  @Test("A policy of retries")
  func retryPolicy() {
    struct ServerIsBusy: Error { let wait: Duration }

    let policy = RetryPolicy(
      attempts: 5, delay: .exponential(.milliseconds(200), maximum: .seconds(10)), jitter: .full
    ) { error, attempt in
      if let busy = error as? ServerIsBusy { return .retry(after: busy.wait) }
      return error is URLError ? .retry : .stop
    }
    #expect(policy.attempts == 5)
  }

  @Test("Promises: another attempt")
  func retries() async throws {
    func future() -> Future<Data> {
      let page = Promises.retry(RetryPolicy(attempts: 3), on: .global()) { attempt in fetch(url) }
      return page
    }
    func work() -> Future<Data> {
      let page = Promises.async(retrying: RetryPolicy(attempts: 3)) { attempt in
        try await fetch(url).value
      }
      return page
    }
    #expect(try await future().value == work().value)
  }

  @Test("Promise: an answer")
  func answer() async throws {
    func answer() -> Future<Int> {
      let promise = Promises.make(promising: Int.self)
      DispatchQueue.global().async { promise.succeed(with: 42) }
      return promise
    }
    #expect(try await answer().value == 42)
  }

  @Test("combine: two values")
  func combine() async throws {
    let shown = Promises.make(promising: Int.self)
    @MainActor func show(_ profile: Profile, _ albums: [Album]) {
      shown.succeed(with: albums.count)
    }
    let profile = Promises.makeSucceeded(with: Profile())
    let albums = Promises.makeSucceeded(with: [Album()])

    Promises.combine(profile, albums).onSuccess { profile, albums in
      show(profile, albums)
    }
    #expect(try await shown.value == 1)
  }

  @Test("getFuture: the middle of a chain")
  func getFuture() async throws {
    @Sendable func decode(_ data: Data) throws -> Int { data.count }
    var download: Future<Data>?

    let decoded =
      fetch(url)
      .getFuture { download = $0 }
      .mapToValue(on: .global()) { try decode($0) }
    #expect(try await decoded.value == 11)
    #expect(download?.isFulfilled == true)
  }

  @Test("mapToValue: a key path")
  func keyPath() async throws {
    let url = try #require(URL(string: "https://example.org/a"))
    let host: Future<String?> = Promises.makeSucceeded(with: url).mapToValue(\.host)
    #expect(try await host.value == "example.org")
  }

  @Test("ExecutionContext: a delay")
  func delayed() async throws {
    #expect(try await Promises.run(on: Delayed(queue: .global())) { 1 }.value == 1)
  }

  @Test("CancellationScope: a screen")
  func screen() {
    let screen = CancellationScope()
    fetch(url).onSuccess { show($0) }.cancelled(by: screen)
    // When the screen goes away:
    screen.cancel()
    #expect(screen.isCancelled)
  }

  @Test("wrap: a permission")
  func permission() async throws {
    #expect(try await granted.value)
  }

  @Test("withResolver: a producer that forgets")
  func forgetfulProducer() async {
    let connection = Connection()

    let future = Promises.withResolver(promising: Data.self) { resolver in
      connection.receive { data, error in
        if let data { resolver.succeed(with: data) }
        // Forgotten: the error. The future fails with `brokenPromise`.
      }
    }

    let error = await future.completion.failureValue
    guard case .brokenPromise? = error as? ProperationsError else {
      Issue.record("\(String(describing: error))")
      return
    }
  }
}
