import NIOCore
import Synchronization

/// The connections of a server that are open.
final class OpenConnections: Sendable {
  /// The error for a connection that is one too many.
  struct TooMany: Error {}

  /// Tells a connection to end unless a request is answered on it.
  struct NeedsRoom {}

  private struct State {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())
  private let usual: Int

  /// - Parameter usual: The number of connections from which on those without an answer under
  ///   way are ended. There are never more than twice as many.
  init(usual: Int) { self.usual = usual }

  /// Adds a connection, which is removed when it closes.
  ///
  /// - Throws: `TooMany` if the connection must be closed at once.
  func add(_ channel: any Channel) throws {
    let id = ObjectIdentifier(channel)
    let others: [any Channel] = try state.withLock { state in
      guard !state.isClosed, state.channels.count < 2 * usual else { throw TooMany() }
      let others = state.channels.count < usual ? [] : Array(state.channels.values)
      state.channels[id] = channel
      return others
    }
    channel.closeFuture.whenComplete { [self] _ in
      state.withLock { $0.channels[id] = nil }
    }
    for other in others { other.pipeline.fireUserInboundEventTriggered(NeedsRoom()) }
  }

  /// Closes all connections, and each that is added later.
  func close() async {
    let channels = state.withLock { state in
      state.isClosed = true
      return Array(state.channels.values)
    }
    for channel in channels { channel.close(promise: nil) }
    for channel in channels { try? await channel.closeFuture.get() }
  }
}
