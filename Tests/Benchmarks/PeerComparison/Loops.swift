import NIOCore
import NIOPosix

/// The NIO loops of the program.
enum Loops {
  private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
  static let first: any EventLoop = group.next()
  static let second: any EventLoop = group.next()

  /// Runs on the thread of the first loop, where NIO's futures are fastest.
  static func run(_ work: @escaping @Sendable () throws -> Void) throws {
    try first.submit(work).wait()
  }
}
