import AsyncHTTPClient
import NIOCore
import Properations
import ProperationsHTTPClient
import TestSupport
import Testing

@Suite("Futures of AsyncHTTPClient", .timeLimit(.minutes(1)))
struct HTTPClientTests {
  private let client = HTTPClient.shared

  @Test("The example of the page: the body of a response")
  func example() async throws {
    try await LoopbackServer.run { server, address in
      let request = try HTTPClient.Request(
        url: "\(address)/echo", method: .POST, body: .string("hello"))
      let text = client.future(for: request)
        .timeout(after: .seconds(30))
        .mapToValue(on: .global()) { $0.body.map { String(buffer: $0) } ?? "" }
      #expect(try await text.value == "hello")
    }
  }

  @Test("A response with another status is a success")
  func status() async throws {
    try await LoopbackServer.run { _, address in
      let response = try client.future(for: HTTPClient.Request(url: "\(address)/missing"))
      #expect(try await response.value.status == .notFound)
    }
  }

  @Test("Cancelling the future stops the request")
  func cancellation() async throws {
    try await LoopbackServer.run { server, address in
      let response = try client.future(for: HTTPClient.Request(url: "\(address)/silent"))
      #expect(await server.silentRequestCame.opened())
      response.cancel()
      #expect(response.isCancelled)
      #expect(await server.silentConnectionClosed.opened())
    }
  }

  @Test("A time limit of a future after it stops the request too")
  func timeout() async throws {
    try await LoopbackServer.run { server, address in
      let came = server.silentRequestCame
      let response = try client.future(for: HTTPClient.Request(url: "\(address)/silent"))
      let limited = response.mapToValue(on: .inline) { $0.status }
        .timeout(after: .milliseconds(300))
      #expect(await came.opened())
      await #expect(throws: ProperationsError.self) { try await limited.value }
      #expect(await server.silentConnectionClosed.opened())
      #expect(response.isCancelled)
    }
  }

  @Test("A request that a cancelled future has not sent yet is not sent")
  func cancelledAtOnce() async throws {
    try await LoopbackServer.run { server, address in
      let response = try client.future(for: HTTPClient.Request(url: "\(address)/silent"))
      response.cancel()
      #expect(response.isCancelled)
      // A later request is answered, so the connections of the client are in order.
      let later = try client.future(for: HTTPClient.Request(url: "\(address)/echo"))
      #expect(try await later.value.status == .ok)
    }
  }

  @Test("A server that cannot be reached fails the future")
  func unreachable() async throws {
    // No server listens there any more.
    let address = try await LoopbackServer.run { _, address in address }
    var configuration = HTTPClient.Configuration()
    configuration.connectionPool.retryConnectionEstablishment = false
    let client = HTTPClient(configuration: configuration)
    let response = try client.future(for: HTTPClient.Request(url: "\(address)/echo"))
    await #expect(throws: IOError.self) { try await response.value }
    try await client.shutdown()
  }

  @Test("A body that is too long fails the future")
  func tooLong() async throws {
    try await LoopbackServer.run { _, address in
      let request = try HTTPClient.Request(
        url: "\(address)/echo", method: .POST, body: .string("hello"))
      let response = client.future(for: request, maxBodySize: 4)
      await #expect(throws: ResponseAccumulator.ResponseTooBigError.self) {
        try await response.value
      }
    }
  }

  @Test("A deadline that has passed fails the future")
  func deadline() async throws {
    try await LoopbackServer.run { _, address in
      let response = try client.future(
        for: HTTPClient.Request(url: "\(address)/silent"), deadline: .now())
      await #expect(throws: HTTPClientError.deadlineExceeded) { try await response.value }
    }
  }
}
