import NIOCore
import NIOHTTP1
import NIOPosix
import TestSupport

/// An HTTP server on the loopback address, on a free port.
///
/// It answers `/echo` with the body of the request, `/missing` with the status 404, and `/silent`
/// never. The answer of `/open` begins with a part of a body and does not end. That of `/parts`
/// has three parts, and its head does not tell their length.
struct LoopbackServer: Sendable {
  /// Opens when a request for `/silent` has come.
  let silentRequestCame = Event()

  /// Opens when the client has closed the connection of a request for `/silent`.
  let silentConnectionClosed = Event()

  /// Opens when a part of the body of a request has come.
  let bodyPartCame = Event()

  /// Opens when the client has closed the connection of a request for `/open`.
  let openConnectionClosed = Event()

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
      server.bodyPartCame.signal()
    case .end:
      respond(in: context)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if path == "/silent" { server.silentConnectionClosed.signal() }
    if path == "/open" { server.openConnectionClosed.signal() }
  }

  private func respond(in context: ChannelHandlerContext) {
    if path == "/silent" { return server.silentRequestCame.signal() }
    if path == "/open" { return send(parts: ["first"], isWhole: false, in: context) }
    if path == "/parts" { return send(parts: ["one", "two", "three"], isWhole: true, in: context) }
    let head = HTTPResponseHead(
      version: .http1_1, status: path == "/echo" ? .ok : .notFound,
      headers: ["Content-Length": "\(body.readableBytes)"])
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }

  private func send(parts: [String], isWhole: Bool, in context: ChannelHandlerContext) {
    let head = HTTPResponseHead(
      version: .http1_1, status: .ok, headers: ["Transfer-Encoding": "chunked"])
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    for part in parts {
      let buffer = context.channel.allocator.buffer(string: part)
      context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(buffer))), promise: nil)
    }
    if isWhole { context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil) }
  }
}
