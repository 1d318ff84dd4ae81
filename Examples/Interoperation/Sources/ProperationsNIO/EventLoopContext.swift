import Foundation
import NIOCore
import Properations

/// The context that runs closures on an event loop.
///
/// Closures on an event loop must be short and must not block: they hold up all channels of
/// the loop. If the loop has been shut down, it drops the closure, and the future of the
/// closure fails with ``ProperationsError/brokenPromise(createdAt:)``.
public struct EventLoopContext: ExecutionContext {
  private let eventLoop: any EventLoop

  /// Makes a context; `.eventLoop(_:)` reads better.
  ///
  /// - Parameter eventLoop: The loop that runs the closures.
  public init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

  /// Starts the operation in a task of the event loop.
  public func execute(_ operation: Operation) { eventLoop.execute { operation.start() } }
}

extension ExecutionContext where Self == EventLoopContext {
  /// Runs closures on an event loop.
  ///
  /// - Parameter eventLoop: The loop that runs the closures.
  public static func eventLoop(_ eventLoop: any EventLoop) -> EventLoopContext {
    EventLoopContext(eventLoop)
  }
}
