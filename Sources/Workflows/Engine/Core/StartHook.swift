import Futures

/// The start hook of a task, called by the task's worker: before the work, and before
/// observers hear of the start.
///
///   to be called ── the worker has called it ──▶ called
///     └── the delivering thread reaches the start ──▶ held up ── called ──▶ called, and
///         the worker continues the delivery
///
/// Neither thread therefore waits for the other.
final class StartHook: @unchecked Sendable {
  // Sendable: `news` belongs to the delivering thread until `phase` is `heldUp`, and then
  // to the worker.
  private enum Phase {
    static let toBeCalled: UInt8 = 0
    static let heldUp: UInt8 = 1
    static let called: UInt8 = 2
  }

  private let phase = Atomic<UInt8>(Phase.toBeCalled)
  private var news: ContiguousArray<Delivery> = []

  /// Notes that the delivering thread has reached the start.
  ///
  /// Returns `false` if the worker has called the hook already.
  ///
  /// - Parameter news: The news from here on. If the result is `true`, the worker
  ///   delivers it.
  func holdsUp(_ news: ArraySlice<Delivery>) -> Bool {
    if phase.load(ordering: .acquiring) == Phase.called { return false }
    self.news = ContiguousArray(news)
    if phase.compareExchange(
      expected: Phase.toBeCalled, desired: Phase.heldUp, ordering: .acquiringAndReleasing
    ).exchanged {
      return true
    }
    self.news = []
    return false
  }

  /// Notes that the worker has called the hook.
  ///
  /// - Returns: The news that the worker has to deliver, if this hook held it up.
  func wasCalled() -> ContiguousArray<Delivery>? {
    let before = phase.exchange(Phase.called, ordering: .acquiringAndReleasing)
    guard before == Phase.heldUp else { return nil }
    defer { news = [] }
    return news
  }
}
