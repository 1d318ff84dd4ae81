import Foundation
import Futures

/// The threads that call delegates, so that a thread with other work need not.
///
/// One is enough for all workflows while delegates are quick. If calls wait and none was
/// begun for two milliseconds, because each thread is in a delegate that takes its time,
/// another one comes. A thread that finds nothing to do goes.
enum NewsThreads {
  private struct State {
    var waiting = FIFO<@Sendable () -> Void>()
    var threads = 0
    /// How many calls have been begun.
    var begun: UInt64 = 0
    /// A look is taken soon whether a thread is missing.
    var isWatched = false
  }

  /// Dispatch has a limit of about twice as many, which others need as well.
  private static let mostThreads = 128

  private static let state = Lock(State())

  /// Makes a call on one of the threads; calls begin in the order in which they come.
  static func call(_ body: @escaping @Sendable () -> Void) {
    let (isFirst, isWatched) = state.withLock { state in
      state.waiting.append(body)
      if state.threads == 0 {
        state.threads = 1
        return (true, true)
      }
      defer { state.isWatched = true }
      return (false, state.isWatched)
    }
    if isFirst { addThread() } else if !isWatched { lookSoon() }
  }

  private static func addThread() {
    // (A private queue has a thread even if those of the global queues are blocked.)
    DispatchQueue(label: "Workflow news").async { while let next = takeFirst() { next() } }
  }

  private static func takeFirst() -> (@Sendable () -> Void)? {
    state.withLock { state in
      let first = state.waiting.popFirst()
      if first != nil { state.begun += 1 } else { state.threads -= 1 }
      return first
    }
  }

  private static func lookSoon() {
    let begun = state.withLock { $0.begun }
    DispatchQueue(label: "Workflow news").asyncAfter(deadline: .now() + .milliseconds(2)) {
      look(whetherMoreThan: begun)
    }
  }

  private static func look(whetherMoreThan begun: UInt64) {
    let (isMissing, isWatched) = state.withLock { state in
      state.isWatched = !state.waiting.isEmpty
      let isMissing =
        state.isWatched && state.begun == begun && state.threads < mostThreads
      if isMissing { state.threads += 1 }
      return (isMissing, state.isWatched)
    }
    if isMissing { addThread() }
    if isWatched { lookSoon() }
  }
}
