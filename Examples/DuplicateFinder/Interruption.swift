import Foundation
import Properations

/// Ctrl-C.
enum Interruption {
  /// A future of the first Ctrl-C; the second ends the program at once.
  static func first() -> Future<Void> {
    Promises.withResolver { resolver in
      // A queue of its own: all other threads may be busy reading.
      let queue = DispatchQueue(label: "Ctrl-C", qos: .userInteractive)
      let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: queue)
      source.setEventHandler {
        let isFirst = resolver.succeed()
        if !isFirst { _exit(Command.ExitCode.interrupted.rawValue) }
        // The handler keeps the source, and so itself, for ever.
        withExtendedLifetime(source) {}
      }
      signal(SIGINT, SIG_IGN)
      source.activate()
    }
  }
}
