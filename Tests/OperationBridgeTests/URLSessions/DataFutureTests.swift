import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Fetching data as a future", .timeLimit(.minutes(5)), .oneAtATime)
struct DataFutureTests {
  let session = URLSession(configuration: .ephemeral)

  @Test("A page: succeeds with its content, by URL and by request")
  func data() async throws {
    let server = try LocalServer()
    defer { server.stop() }
    let byURL: Future<Data> = session.dataFuture(from: server.url("/ok"))
    let byRequest: Future<Data> = session.dataFuture(for: URLRequest(url: server.url("/ok")))
    #expect(try await byURL.value == Data("fine".utf8))
    #expect(try await byRequest.value == Data("fine".utf8))
    #expect(server.requested == ["/ok", "/ok"])
  }

  @Test("No type named: a chain goes on with the data alone")
  func plainChain() async throws {
    let server = try LocalServer()
    defer { server.stop() }
    let count = session.dataFuture(from: server.url("/ok")).mapToValue(on: .inline) { $0.count }
    #expect(try await count.value == 4)
  }

  @Test("Data and response asked for: succeeds with both")
  func dataAndResponse() async throws {
    let server = try LocalServer()
    defer { server.stop() }
    let (data, response) = try await session.dataFuture(from: server.url("/ok")).value
    #expect(data == Data("fine".utf8))
    #expect((response as? HTTPURLResponse)?.statusCode == 200)
    let request = URLRequest(url: server.url("/ok"))
    let (again, _) = try await session.dataFuture(for: request).value
    #expect(again == data)
  }

  @Test("Status 404 or 500: a success, whose response tells the status", arguments: [404, 500])
  func status(_ status: Int) async throws {
    let server = try LocalServer()
    defer { server.stop() }
    let (data, response) = try await session.dataFuture(from: server.url("/status/\(status)")).value
    #expect((response as? HTTPURLResponse)?.statusCode == status)
    #expect(data == Data("status \(status)".utf8))
  }

  @Test("Nobody listens: fails with an URLError")
  func refused() async throws {
    let server = try LocalServer()
    let url = server.url("/ok")
    server.stop()
    let future: Future<Data> = session.dataFuture(from: url)
    #expect(await future.completion.failureValue is URLError)
  }

  @Test("The connection is reset: fails with an URLError")
  func reset() async throws {
    let server = try LocalServer()
    defer { server.stop() }
    let future: Future<Data> = session.dataFuture(from: server.url("/reset"))
    #expect(await future.completion.failureValue is URLError)
  }

  @Test("A scheme that nobody knows: fails")
  func unknownScheme() async throws {
    let future: Future<Data> = session.dataFuture(from: URL(string: "bogus://somewhere")!)
    #expect(await future.completion.isFailure)
  }

  @Test("Cancelled while the server is silent: settles at once, the connection is closed")
  func cancelled() async throws {
    let server = try LocalServer()
    defer { server.stop() }
    let future: Future<Data> = session.dataFuture(from: server.url("/slow"))
    await server.isSlowRequested.opened()
    future.cancel()
    #expect(future.result?.failureValue as? ProperationsError == .cancelled)
    #expect(await eventually { server.isAbandoned.isOpen })
  }

  @Test("The only consumer is cancelled, of data and response: the connection is closed")
  func consumerCancelled() async throws {
    let server = try LocalServer()
    defer { server.stop() }
    let both: Future<(data: Data, response: URLResponse)> = session.dataFuture(
      from: server.url("/slow"))
    let consumer = both.mapToValue(on: .global()) { $0.data }
    await server.isSlowRequested.opened()
    consumer.cancel()
    #expect(await eventually { server.isAbandoned.isOpen })
  }

  @Test("A task that awaits it with .cancelFuture is cancelled: the connection is closed")
  func taskCancelled() async throws {
    let server = try LocalServer()
    defer { server.stop() }
    let future: Future<Data> = session.dataFuture(from: server.url("/slow"))
    let task = Task { try await future.value(onTaskCancellation: .cancelFuture) }
    await server.isSlowRequested.opened()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(await eventually { server.isAbandoned.isOpen })
  }

  @Test("timeout(after:) on a silent server: fails with timedOut, the connection is closed")
  func timedOut() async throws {
    let server = try LocalServer()
    defer { server.stop() }
    let future: Future<Data> = session.dataFuture(from: server.url("/slow"))
    await server.isSlowRequested.opened()
    let limited = future.timeout(after: .milliseconds(20))
    #expect(
      await limited.completion.failureValue as? ProperationsError
        == .timedOut(after: .milliseconds(20)))
    #expect(await eventually { server.isAbandoned.isOpen })
  }

  @Test("The session is invalidated meanwhile: the future fails, and does not hang")
  func invalidated() async throws {
    let server = try LocalServer()
    defer { server.stop() }
    let session = URLSession(configuration: .ephemeral)
    let future: Future<Data> = session.dataFuture(from: server.url("/slow"))
    await server.isSlowRequested.opened()
    session.invalidateAndCancel()
    #expect(await future.completion.isFailure)
  }

  @Test("A hundred at once: each gets its answer")
  func aHundred() async throws {
    let server = try LocalServer()
    defer { server.stop() }
    let futures: [Future<Data>] = (0..<100).map { _ in session.dataFuture(from: server.url("/ok")) }
    let answers = try await Promises.collect(futures).value
    #expect(answers.allSatisfy { $0 == Data("fine".utf8) })
  }
}
