import Futures

/// The hook of a task that has begun, which its worker calls: before the work, and before
/// observers are told of the start.
///
///   to be called ── the worker has called it ──▶ called
///     └── the thread that tells comes to the start ──▶ held up ── called ──▶ called, and
///         the worker goes on with the news
///
/// So neither thread waits for the other.
final class StartHook: @unchecked Sendable {
  // Sendable: `news` belongs to the thread that tells until `phase` says that it is held
  // up, and then to the worker.
  private enum Phase {
    static let toBeCalled: UInt8 = 0
    static let heldUp: UInt8 = 1
    static let called: UInt8 = 2
  }

  private let phase = Atomic<UInt8>(Phase.toBeCalled)
  private var news: ContiguousArray<Delivery> = []

  /// The thread that tells has come to the start; `false` if the hook was called before.
  ///
  /// - Parameter news: What is to be told from here on: for the worker if `true`.
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

  /// The worker has called the hook.
  ///
  /// - Returns: The news that it has to tell, if it held them up.
  func wasCalled() -> ContiguousArray<Delivery>? {
    let before = phase.exchange(Phase.called, ordering: .acquiringAndReleasing)
    guard before == Phase.heldUp else { return nil }
    defer { news = [] }
    return news
  }
}
