import Foundation
import Futures

/// The threads that call delegates for threads that run tasks, and that check late whether a
/// thread is missing.
///
/// While delegates are quick, one thread serves all workflows. If calls wait and none has
/// begun for two milliseconds, because every thread is in a slow delegate, another thread
/// is added. A thread that finds no call waiting ends.
enum NewsThreads {
  private struct State {
    var waiting = FIFO<@Sendable () -> Void>()
    var threads = 0
    /// How many calls have begun.
    var begun: UInt64 = 0
    /// A check whether a thread is missing is scheduled.
    var isWatched = false
  }

  /// Dispatch allows about twice as many, and other code needs some of them.
  private static let mostThreads = 128

  private static let state = Lock(State())

  /// Makes a call on one of the threads.
  ///
  /// Calls begin in the order in which they arrive.
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
    if isFirst { addThread() } else if !isWatched { watch() }
  }

  /// A queue that gets a thread even if those of the global queues are blocked.
  private static var freeQueue: DispatchQueue { DispatchQueue(label: "Workflow news") }

  /// Makes a check in two milliseconds, on a thread that has no other work.
  ///
  /// Each check has a queue of its own: it may call a context of the user.
  static func lookSoon(_ look: @escaping @Sendable () -> Void) {
    freeQueue.asyncAfter(deadline: .now() + .milliseconds(2), execute: look)
  }

  private static func addThread() {
    freeQueue.async { while let next = takeFirst() { next() } }
  }

  private static func takeFirst() -> (@Sendable () -> Void)? {
    state.withLock { state in
      let first = state.waiting.popFirst()
      if first != nil { state.begun += 1 } else { state.threads -= 1 }
      return first
    }
  }

  private static func watch() {
    let begun = state.withLock { $0.begun }
    lookSoon { look(whetherMoreThan: begun) }
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
    if isWatched { watch() }
  }
}
