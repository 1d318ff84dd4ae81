import FlyingSocks

/// Ends connections on which nothing happens for a while.
///
/// The server waits for the rest of a request without a limit. A program that says nothing, or
/// whose bytes are no HTTP and have no end of line, would keep its connection for ever. The
/// server waits for sockets through a pool, so the limit is put around the waiting.
///
/// A stream of events is not ended: the server does not wait for its page, unless the page
/// takes nothing any more.
struct IdleLimit: AsyncSocketPool {
  /// The pool that waits.
  let pool: any AsyncSocketPool
  /// How long a wait for bytes, or for room to send some, may take.
  let duration: Duration

  func prepare() async throws { try await pool.prepare() }

  func run() async throws { try await pool.run() }

  func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
    // The socket that listens has no peer. It waits for connections as long as it has to.
    guard (try? socket.remotePeer()) != nil else {
      return try await pool.suspendSocket(socket, untilReadyFor: events)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await pool.suspendSocket(socket, untilReadyFor: events) }
      group.addTask {
        try await Task.sleep(for: duration)
        throw SocketError.timeout(message: "nothing has come or gone for \(duration)")
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }
}
