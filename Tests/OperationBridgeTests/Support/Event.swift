import Foundation
import Synchronization

/// Something that happens once, for threads and tasks to wait for.
final class Event: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let flag = Atomic(false)

  init() { (stream, continuation) = AsyncStream<Void>.makeStream() }

  var hasHappened: Bool { flag.load(ordering: .acquiring) }

  func happen() {
    flag.store(true, ordering: .releasing)
    semaphore.signal()
    continuation.finish()
  }

  /// Waits in a task.
  ///
  /// Cancelling the task, as a time limit does, ends the wait.
  func wait() async {
    for await _ in stream {}
  }

  /// Waits on a thread that may block, as those of operations.
  ///
  /// `false` if time is up.
  @discardableResult
  func block(seconds: Double = 20) -> Bool {
    guard semaphore.wait(timeout: .now() + seconds) == .success else { return false }
    semaphore.signal()
    return true
  }
}
