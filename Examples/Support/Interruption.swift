import Foundation
import Properations
import Synchronization

/// Ctrl-C, and the other signals that ask a program to end.
package enum Interruption {
  /// The signals that ask: from the keyboard, from `kill`, from a terminal
  /// that is closed.
  private static let numbers = [SIGINT, SIGTERM, SIGHUP]

  /// A future of the first such signal's number; the second ends the program
  /// at once.
  ///
  /// Call it before the program has made a thread.
  ///
  /// - Parameters:
  ///   - others: More signals to listen to.
  ///   - onOther: Called for those, on the thread that listens.
  ///   - beforeExit: Called before the program ends at once.
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

  /// What a program exits with because of a signal.
  package static func exitCode(for number: Int32) -> Int32 { 128 + number }

  /// Calls a closure for every one of these signals, on a thread of its own.
  ///
  /// All threads block the signals, and that one waits for them; ignoring them
  /// instead would make the programs that this one starts ignore them too. The
  /// library starts programs from a thread that for this moment blocks
  /// nothing: there the handler hands the signal back.
  private static func listen(
    to numbers: [Int32], _ received: @escaping @Sendable (Int32) -> Void
  ) {
    var set = sigset_t()
    sigemptyset(&set)
    for number in numbers where number != SIGHUP || !isHangUpIgnored { sigaddset(&set, number) }
    // Blocked before there is a handler that hands them back.
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

  /// Whoever says `nohup` wants the program to go on.
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
