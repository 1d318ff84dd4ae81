import ExampleSupport
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// Listens on a port and answers the requests that come.
///
/// swift-nio reads the requests and writes the answers. A `WebConnection` has the limits of
/// one connection, `OpenConnections` those of all.
final class WebServer: Sendable {
  /// The largest part of a head, such as its address or one header, in bytes.
  private static let largestField = 16 * 1024
  /// The largest head, in bytes.
  ///
  /// A browser also sends the cookies of other programs on the same host.
  private static let largestHead = 64 * 1024
  /// The largest number of headers.
  private static let mostFields = 100

  /// The port on which the server listens.
  let port: Int
  private let listener: any Channel
  private let connections: OpenConnections

  /// Starts to listen.
  ///
  /// - Parameters:
  ///   - address: The address of this machine to listen on.
  ///   - port: The port; zero for a free one.
  ///   - idleLimit: How long a connection may take for each part of a request, be silent
  ///     between two requests, and take nothing of an answer.
  ///   - answer: Answers a request that has come on a port.
  /// - Throws: The system's error, for example if another program uses the port.
  init(
    address: String, port: UInt16, idleLimit: Duration,
    answer: @escaping @Sendable (Request, _ port: Int) async -> Response
  ) async throws {
    // A program without a free file cannot go on: even Dispatch ends it.
    let files = sysconf(Int32(_SC_OPEN_MAX))
    let connections = OpenConnections(usual: files < 0 ? 256 : min(256, files / 4))
    var decoder = NIOHTTPDecoderLimitConfiguration()
    decoder.maxHeaderFieldSize = Self.largestField
    decoder.maxHeaderListSize = Self.largestHead
    decoder.maxHeaderFieldCount = Self.mostFields
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          // If the program itself needs all files, the server waits a second.
          try channel.pipeline.syncOperations.addHandler(AcceptBackoffHandler())
        }
      }
      .childChannelInitializer { [decoder] channel in
        channel.eventLoop.makeCompletedFuture {
          try connections.add(channel)
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(HTTPResponseEncoder())
          try pipeline.addHandler(
            ByteToMessageHandler(
              HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoder)))
          try pipeline.addHandler(WebConnection(idleLimit: TimeAmount(idleLimit), answer: answer))
        }
      }
    do { listener = try await bootstrap.bind(host: address, port: Int(port)).get() } catch {
      throw (error as? IOError).map { SystemError(code: $0.errnoCode) } ?? error
    }
    self.connections = connections
    self.port = listener.localAddress?.port ?? 0
  }

  /// Stops to listen, and ends all connections, also in the middle of answers.
  func stop() async {
    try? await listener.close().get()
    await connections.close()
  }
}
