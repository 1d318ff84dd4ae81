import AsyncHTTPClient
import NIOCore
import Properations
import ProperationsHTTPClient
import TestSupport
import Testing

@Suite("Futures of streamed requests of AsyncHTTPClient", .timeLimit(.minutes(1)))
struct StreamingTests {
  private let client = HTTPClient.shared

  // MARK: Examples of the page

  @Test("The example of the page: a body is read part by part")
  func partsExample() async throws {
    try await LoopbackServer.run { _, address in
      let request = HTTPClientRequest(url: "\(address)/parts")
      let size = client.future(for: request) { response in
        var size = 0
        for try await part in response.body { size += part.readableBytes }
        return size
      }
      let total = try await size.value
      #expect(total == 11)
    }
  }

  @Test("The example of the page: the body of a request is a stream")
  func uploadExample() async throws {
    try await LoopbackServer.run { _, address in
      let parts = AsyncStream { continuation in
        for number in 1...3 { continuation.yield(ByteBuffer(string: "part \(number),")) }
        continuation.finish()
      }
      var request = HTTPClientRequest(url: "\(address)/echo")
      request.method = .POST
      request.body = .stream(parts, length: .unknown)
      let echo = client.future(for: request, maxBodySize: 1 << 20)
        .mapToValue(on: .global()) { $0.body.map { String(buffer: $0) } }
      let text = try await echo.value
      #expect(text == "part 1,part 2,part 3,")
    }
  }

  @Test("The example of the page: the head of a response comes before its body")
  func headExample() async throws {
    try await LoopbackServer.run { server, address in
      let request = HTTPClientRequest(url: "\(address)/open")
      let head = client.future(for: request) { $0 }
      do {
        let response = try await head.value
        #expect(response.status == .ok)
        var parts = response.body.makeAsyncIterator()
        let first = try await parts.next()
        #expect(first == ByteBuffer(string: "first"))
      }
    }
  }

  // MARK: Whole responses

  @Test("A whole response has its status, headers, body and address")
  func wholeResponse() async throws {
    try await LoopbackServer.run { _, address in
      let response = try await client.future(for: HTTPClientRequest(url: "\(address)/missing"))
        .value
      #expect(response.status == .notFound)
      #expect(response.headers.first(name: "Content-Length") == "0")
      #expect(response.host == "127.0.0.1")
      #expect(response.url?.absoluteString == "\(address)/missing")
    }
  }

  @Test(
    "A body that is too long fails the future, whether its length is told or not",
    arguments: ["/echo", "/parts"])
  func tooLong(path: String) async throws {
    try await LoopbackServer.run { _, address in
      var request = HTTPClientRequest(url: address + path)
      request.method = .POST
      request.body = .bytes(ByteBuffer(string: "hello"))
      let response = client.future(for: request, maxBodySize: 4)
      await #expect(throws: ResponseAccumulator.ResponseTooBigError.self) {
        try await response.value
      }
    }
  }

  @Test("The rest of a body that is too long is not received")
  func tooLongStops() async throws {
    try await LoopbackServer.run { server, address in
      let response = client.future(for: HTTPClientRequest(url: "\(address)/open"), maxBodySize: 4)
      await #expect(throws: ResponseAccumulator.ResponseTooBigError.self) {
        try await response.value
      }
      #expect(await server.openConnectionClosed.opened())
    }
  }

  @Test("A deadline that has passed fails the future")
  func deadline() async throws {
    try await LoopbackServer.run { _, address in
      let response = client.future(
        for: HTTPClientRequest(url: "\(address)/silent"), deadline: .now())
      await #expect(throws: HTTPClientError.deadlineExceeded) { try await response.value }
    }
  }

  @Test("A deadline that passes while the body streams changes nothing")
  func deadlineWhileReading() async throws {
    try await LoopbackServer.run { server, address in
      let deadline = NIODeadline.now() + .seconds(2)
      let partCame = Event()
      let end = client.future(
        for: HTTPClientRequest(url: "\(address)/open"), deadline: deadline
      ) { response in
        for try await _ in response.body { partCame.signal() }
      }
      #expect(await partCame.opened())
      // The deadline of this request has passed when its future has failed.
      let other = client.future(
        for: HTTPClientRequest(url: "\(address)/silent"), deadline: deadline)
      await #expect(throws: HTTPClientError.deadlineExceeded) { try await other.value }
      #expect(end.result == nil)
      #expect(!server.openConnectionClosed.isOpen)
      end.cancel()
      #expect(await server.openConnectionClosed.opened())
    }
  }

  // MARK: Cancellation

  @Test("Cancelling the future before the head has come stops the request")
  func cancelledBeforeHead() async throws {
    try await LoopbackServer.run { server, address in
      let response = client.future(for: HTTPClientRequest(url: "\(address)/silent"))
      #expect(await server.silentRequestCame.opened())
      response.cancel()
      #expect(response.isCancelled)
      #expect(await server.silentConnectionClosed.opened())
    }
  }

  @Test("Cancelling the future while the body of the response streams stops the request")
  func cancelledWhileReading() async throws {
    try await LoopbackServer.run { server, address in
      let partCame = Event()
      let loopEnded = Event()
      let errors = Log<String>()
      let size = client.future(for: HTTPClientRequest(url: "\(address)/open")) { response in
        defer { loopEnded.signal() }
        do {
          for try await _ in response.body { partCame.signal() }
        } catch {
          errors.append("\(type(of: error))")
          throw error
        }
      }
      #expect(await partCame.opened())
      size.cancel()
      #expect(size.isCancelled)
      #expect(await server.openConnectionClosed.opened())
      #expect(await loopEnded.opened())
      #expect(errors.entries == ["CancellationError"])
    }
  }

  @Test("A time limit of a future after it stops the request while the body streams")
  func timeoutWhileReading() async throws {
    try await LoopbackServer.run { server, address in
      let partCame = Event()
      let end = client.future(for: HTTPClientRequest(url: "\(address)/open")) { response in
        for try await _ in response.body { partCame.signal() }
      }
      let limited = end.mapToValue(on: .inline) { 1 }.timeout(after: .milliseconds(300))
      #expect(await partCame.opened())
      await #expect(throws: ProperationsError.self) { try await limited.value }
      #expect(await server.openConnectionClosed.opened())
      #expect(end.isCancelled)
    }
  }

  @Test("Cancelling the future while the body of the request streams stops the request")
  func cancelledWhileSending() async throws {
    try await LoopbackServer.run { server, address in
      let ended = Event()
      var request = HTTPClientRequest(url: "\(address)/silent")
      request.method = .POST
      let continuation = request.streamBody()
      continuation.onTermination = { _ in ended.signal() }
      let response = client.future(for: request)
      continuation.yield(ByteBuffer(string: "first"))
      #expect(await server.bodyPartCame.opened())
      response.cancel()
      #expect(response.isCancelled)
      #expect(await server.silentConnectionClosed.opened())
      // The client still waits for the next part, and gives up the stream when it has come.
      request.body = nil
      continuation.yield(ByteBuffer(string: "second"))
      #expect(await ended.opened())
    }
  }

  @Test("A client that is shut down cancels the future")
  func shutDown() async throws {
    try await LoopbackServer.run { server, address in
      let client = HTTPClient()
      let response = client.future(for: HTTPClientRequest(url: "\(address)/silent"))
      #expect(await server.silentRequestCame.opened())
      try await client.shutdown()
      await #expect(throws: ProperationsError.cancelled) { try await response.value }
      #expect(response.isCancelled)
    }
  }

  // MARK: What ends early

  @Test("What the closure has not read is not received")
  func closureReturnsEarly() async throws {
    try await LoopbackServer.run { server, address in
      let status = client.future(for: HTTPClientRequest(url: "\(address)/open")) { $0.status }
      let value = try await status.value
      #expect(value == .ok)
      #expect(await server.openConnectionClosed.opened())
    }
  }

  @Test("An error of the closure fails the future and stops the request")
  func closureThrows() async throws {
    try await LoopbackServer.run { server, address in
      let end = client.future(for: HTTPClientRequest(url: "\(address)/open")) { response in
        for try await _ in response.body { throw TestError.first }
      }
      await #expect(throws: TestError.first) { try await end.value }
      #expect(await server.openConnectionClosed.opened())
    }
  }

  @Test("An error of the request's stream fails the future and stops the request")
  func streamThrows() async throws {
    try await LoopbackServer.run { server, address in
      let parts = AsyncThrowingStream<ByteBuffer, any Error> { continuation in
        continuation.yield(ByteBuffer(string: "first"))
        continuation.finish(throwing: TestError.first)
      }
      var request = HTTPClientRequest(url: "\(address)/silent")
      request.method = .POST
      request.body = .stream(parts, length: .unknown)
      let response = client.future(for: request)
      await #expect(throws: TestError.first) { try await response.value }
      #expect(await server.silentConnectionClosed.opened())
    }
  }

  @Test("A head whose body nobody reads closes the connection when it is released")
  func releasedHead() async throws {
    try await LoopbackServer.run { server, address in
      var head: Future<HTTPClientResponse>? = client.future(
        for: HTTPClientRequest(url: "\(address)/open")
      ) { $0 }
      let status = try await head?.value.status
      #expect(status == .ok)
      head = nil
      #expect(await server.openConnectionClosed.opened())
    }
  }
}

extension HTTPClientRequest {
  /// Makes the body a stream that only the request keeps.
  fileprivate mutating func streamBody() -> AsyncStream<ByteBuffer>.Continuation {
    let (parts, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
    body = .stream(parts, length: .unknown)
    return continuation
  }
}
