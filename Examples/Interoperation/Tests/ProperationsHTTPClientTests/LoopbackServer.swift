import NIOCore
import NIOHTTP1
import NIOPosix
import TestSupport

/// An HTTP server on the loopback address, on a free port.
///
/// It answers `/echo` with the body of the request, `/missing` with the status 404, and `/silent`
/// never.
struct LoopbackServer: Sendable {
  /// Opens when a request for `/silent` has come.
  let silentRequestCame = Event()

  /// Opens when the client has closed the connection of a request for `/silent`.
  let silentConnectionClosed = Event()

  /// Starts a server, and stops it when the closure has returned.
  static func run<Output>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: (_ server: LoopbackServer, _ address: String) async throws -> Output
  ) async throws -> Output {
    let server = LoopbackServer()
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.pipeline.configureHTTPServerPipeline().flatMap {
          channel.pipeline.addHandler(Responder(of: server))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    do {
      let output = try await body(server, "http://127.0.0.1:\(channel.localAddress?.port ?? 0)")
      try await channel.close()
      return output
    } catch {
      try? await channel.close()
      throw error
    }
  }
}

/// Answers the requests of one connection.
private final class Responder: ChannelInboundHandler, @unchecked Sendable {
  // Sendable: NIO calls a handler only on the event loop of its channel.
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let server: LoopbackServer
  private var path = ""
  private var body = ByteBuffer()

  init(of server: LoopbackServer) { self.server = server }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      path = head.uri
      body.clear()
    case .body(var part):
      body.writeBuffer(&part)
    case .end:
      respond(in: context)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if path == "/silent" { server.silentConnectionClosed.signal() }
  }

  private func respond(in context: ChannelHandlerContext) {
    if path == "/silent" { return server.silentRequestCame.signal() }
    let head = HTTPResponseHead(
      version: .http1_1, status: path == "/echo" ? .ok : .notFound,
      headers: ["Content-Length": "\(body.readableBytes)"])
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }
}
