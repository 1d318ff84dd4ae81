import Foundation
import Properations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Futures of URLSession", .timeLimit(.minutes(1)))
struct URLSessionTests {
  private let session = URLSession(configuration: .ephemeral)

  @Test("The example of the page: the data and the status of a response")
  func example() async throws {
    try await LoopbackServer.run { _, address in
      let url = try #require(URL(string: "\(address)/missing"))
      let status = session.dataFuture(from: url)
        .mapToValue(on: .global()) { (data: Data, response: URLResponse) in
          (response as? HTTPURLResponse)?.statusCode
        }
      #expect(try await status.value == 404)
    }
  }

  @Test("The body of a request comes back")
  func echo() async throws {
    try await LoopbackServer.run { _, address in
      var request = URLRequest(url: try #require(URL(string: "\(address)/echo")))
      request.httpMethod = "POST"
      request.httpBody = Data("hello".utf8)
      let data: Future<Data> = session.dataFuture(for: request)
      #expect(try await data.value == Data("hello".utf8))
    }
  }

  @Test("Cancelling the future stops the request")
  func cancellation() async throws {
    try await LoopbackServer.run { server, address in
      let url = try #require(URL(string: "\(address)/silent"))
      let data: Future<Data> = session.dataFuture(from: url)
      #expect(await server.silentRequestCame.opened())
      data.cancel()
      #expect(data.isCancelled)
      #expect(await server.silentConnectionClosed.opened())
    }
  }

  @Test("A server that cannot be reached fails the future")
  func unreachable() async throws {
    // No server listens there any more.
    let address = try await LoopbackServer.run { _, address in address }
    let url = try #require(URL(string: "\(address)/echo"))
    let data: Future<Data> = session.dataFuture(from: url)
    await #expect(throws: URLError.self) { try await data.value }
  }
}
