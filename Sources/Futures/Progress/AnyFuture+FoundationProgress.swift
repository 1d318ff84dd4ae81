import Foundation
import Synchronization

extension AnyFuture {
  /// Makes a Foundation `Progress` that follows the future.
  ///
  /// ```swift
  /// let progress = Progress(totalUnitCount: 2)
  /// progress.becomeCurrent(withPendingUnitCount: 1)
  /// let part = future.makeProgress()
  /// progress.resignCurrent()
  /// ```
  ///
  /// As every new `Progress`, it becomes a child of the one that is current on the calling
  /// thread. It counts the units of the producer if there is one producer that counts, and
  /// millionths otherwise. It is indeterminate until ``currentProgress`` is known for the first
  /// time, and complete when the future has succeeded. While the progress is unknown again, and
  /// after a failure or a cancellation, it stays as it is.
  ///
  /// Cancelling the `Progress` cancels the future, on Linux on another thread. Releasing it ends
  /// the observation, and the future continues. The `Progress` does not keep a promise alive.
  /// Its properties change on the thread that reports or settles, and a task that awaits the
  /// future may go on a moment before that. Where many futures are joined, or several threads
  /// report at the same time, they may change on a thread of the library, some milliseconds later.
  /// On Linux, Foundation loses changes of a common parent if its children change on several
  /// threads at the same time.
  ///
  /// - Returns: A new `Progress` for each call, because a `Progress` stays cancelled for good.
  /// - Complexity: O(1) on average for reports in quick succession. A report after a pause, or a
  ///   future upstream that settles then, costs O(n) for n futures upstream, at most fifty times
  ///   in a second.
  public final func makeProgress() -> Progress {
    let progress = Progress(totalUnitCount: 0)
    let follower = ProgressFollower(target: progressEdge, progress)
    // The handler keeps the follower, and goes with the progress.
    progress.cancellationHandler = { follower.target.existingFuture?.cancel() }
    follower.follow()
    return progress
  }
}

/// Writes the progress of a future to a Foundation `Progress`, one thread at a time.
///
///   idle ── wake ──▶ writing ── the value is written ──▶ idle
///                      │  ▲──── once more
///                      └── wake ──▶ writing, and again
///
/// A value is read by a walk, which is long where many futures are joined. So each wake only
/// pays for a part of the next walk. If the walk is not paid for, or another thread woke the
/// follower again, a timer looks a little later.
private final class ProgressFollower: ProgressListener, @unchecked Sendable {
  // Sendable: `state` has a lock, and a weak reference is safe on any thread. `last` belongs
  // to the thread that writes.
  private enum State { case idle, writing, writingAndAgain }

  private let state = Lock(State.idle)
  private weak var progress: Progress?
  private var last: FutureProgress?
  /// The number of futures that the next walk may visit.
  private let credit = Atomic<Int>(0)
  private let isPlanned = Atomic<Bool>(false)

  init(target: Upstream, _ progress: Progress) {
    self.progress = progress
    super.init(target: target)
  }

  // Observers of the progress are user code.
  override func wake() {
    guard mayFollow() else { return plan() }
    WorkLoop.current.runInline { [self] in releasingAutoreleased { follow() } }
  }

  // The closure that reports may run for long, and inline closures wait for its end.
  override func hearReport() { if mayFollow() { follow() } else { plan() } }

  // The thread that writes has work of its own.
  override func readAgain() { state.withLock { $0 = .writingAndAgain } }

  /// Whether the next walk is short, or enough wakes have paid for it.
  private func mayFollow() -> Bool {
    let cost = cost
    if cost <= 64 { return true }
    // Each wake pays for a few visits only, because settling a future costs about as much.
    guard credit.wrappingAdd(8, ordering: .relaxed).newValue >= cost else { return false }
    credit.store(0, ordering: .relaxed)
    return true
  }

  /// Follows a little later, on another thread.
  private func plan() {
    guard !isPlanned.exchange(true, ordering: .acquiringAndReleasing) else { return }
    _ = Timer(after: .milliseconds(20)) { [weak self] _ in
      // Observers of the progress are user code, and must not hold timers up. A queue of its
      // own, because the shared ones stand still when their threads block.
      DispatchQueue(label: "Properations.Progress").async { [weak self] in
        self?.isPlanned.store(false, ordering: .releasing)
        self?.follow()
      }
    }
  }

  func follow() {
    let isFirst = state.withLock { state in
      defer { state = state == .idle ? .writing : .writingAndAgain }
      return state == .idle
    }
    guard isFirst else { return }
    write()
    guard isNeededAgain() else { return }
    write()
    // Another thread may report again and again: this one has work of its own.
    let isBehind = state.withLock { state in
      defer { state = .idle }
      return state == .writingAndAgain
    }
    if isBehind { plan() }
  }

  private func isNeededAgain() -> Bool {
    state.withLock { state in
      defer { state = state == .writingAndAgain ? .writing : .idle }
      return state == .writingAndAgain
    }
  }

  private func write() {
    guard let progress else { return }
    switch read() {
    case .pending(let value):
      guard last.map({ value.mayFollow($0) }) ?? true else { return }
      last = value
      guard !value.isIndeterminate else { return }
      let total = value.total ?? 1_000_000
      let completed = value.completed ?? value.units(in: 1_000_000)
      // Never more than the total: a parent would take that for the end, and Foundation's
      // fractions would overflow.
      if total < progress.totalUnitCount { progress.completedUnitCount = completed }
      if progress.totalUnitCount != total { progress.totalUnitCount = total }
      progress.completedUnitCount = completed
    case .succeeded:
      if progress.totalUnitCount <= 0 { progress.totalUnitCount = 1 }
      progress.completedUnitCount = progress.totalUnitCount
      stop()
    case .over:
      stop()
    }
  }
}
