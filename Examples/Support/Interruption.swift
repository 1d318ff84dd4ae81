import Foundation
import Properations
import Synchronization

/// Ctrl-C and the other signals that ask a program to end.
package enum Interruption {
  /// The signals that ask a program to end: Ctrl-C, `kill`, and a closed terminal.
  private static let numbers = [SIGINT, SIGTERM, SIGHUP]

  /// Returns a future of the number of the first such signal; the second one ends the
  /// program at once.
  ///
  /// Call it before the program has made a thread.
  ///
  /// - Parameters:
  ///   - others: More signals to listen to.
  ///   - onOther: Called for each of these signals, on the thread that listens.
  ///   - beforeExit: Called before the second signal ends the program.
  package static func first(
    others: [Int32] = [], onOther: @escaping @Sendable (Int32) -> Void = { _ in },
    beforeExit: @escaping @Sendable () -> Void = {}
  ) -> Future<Int32> {
    let promise = Promises.make(promising: Int32.self)
    listen(to: numbers + others) { number in
      guard numbers.contains(number) else { return onOther(number) }
      let isFirst = promise.succeed(with: number)
      if isFirst { return }
      beforeExit()
      _exit(exitCode(for: number))
    }
    return promise
  }

  /// The exit code of a program that a signal has ended.
  package static func exitCode(for number: Int32) -> Int32 { 128 + number }

  /// Calls a closure for each of these signals, on a thread of its own.
  ///
  /// All threads block the signals, and the listening thread waits for them. Ignoring the
  /// signals instead would make child processes ignore them too. The library starts a
  /// process from a thread that blocks no signal for that moment; if a signal arrives
  /// there, the handler sends it to the process again.
  private static func listen(
    to numbers: [Int32], _ received: @escaping @Sendable (Int32) -> Void
  ) {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers where number != SIGHUP || !isHangUpIgnored { sigaddset(&set, number) }
    // The signals must be blocked before the handler that sends them again exists.
    pthread_sigmask(SIG_BLOCK, &set, nil)
    for number in numbers where sigismember(&set, number) == 1 {
      signal(number) { kill(getpid(), $0) }
    }
    let waitedFor = set
    Thread.detachNewThread {
      var set = waitedFor
      var number: Int32 = 0
      while true {
        if sigwait(&set, &number) == 0 { received(number) }
      }
    }
  }

  /// `nohup` ignores SIGHUP: the program goes on after its terminal is closed.
  private static var isHangUpIgnored: Bool {
    var action = sigaction()
    sigaction(SIGHUP, nil, &action)
    #if canImport(Darwin)
      let handler = action.__sigaction_u.__sa_handler
    #else
      let handler = action.__sigaction_handler.sa_handler
    #endif
    return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
