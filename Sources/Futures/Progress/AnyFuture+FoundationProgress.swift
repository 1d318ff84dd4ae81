import Foundation

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
  /// millionths otherwise. It is indeterminate while ``currentProgress`` is, and complete when the
  /// future has succeeded. After a failure or a cancellation it stays as it is.
  ///
  /// Cancelling the `Progress` cancels the future, on Linux on another thread. Releasing it ends the observation, and the
  /// future continues. The `Progress` does not keep a promise alive. Its properties change on the
  /// thread that reports or settles.
  ///
  /// - Returns: A new `Progress` for each call, because a `Progress` stays cancelled for good.
  /// - Complexity: As ``currentProgress``, for each report.
  public final func makeProgress() -> Progress {
    let progress = Progress(totalUnitCount: 0)
    let follower = ProgressFollower(target: progressEdge, progress)
    // The handler keeps the follower, and goes with the progress.
    progress.cancellationHandler = { follower.cancelTarget() }
    follower.follow()
    return progress
  }
}

/// Writes the progress of a future to a Foundation `Progress`, one thread at a time.
///
///   idle ── wake ──▶ writing ── the value is written ──▶ idle
///                      │  ▲──── again
///                      └── wake ──▶ writing, and again
private final class ProgressFollower: ProgressListener, @unchecked Sendable {
  // Sendable: `state` has a lock, and a weak reference is safe on any thread. `last` belongs
  // to the thread that writes.
  private enum State { case idle, writing, writingAndAgain }

  private let state = Lock(State.idle)
  private weak var progress: Progress?
  private var last: FutureProgress?

  init(target: Upstream, _ progress: Progress) {
    self.progress = progress
    super.init(target: target)
  }

  func cancelTarget() {
    switch target {
    case .future(let future): future.cancel()
    case .reference(let reference): reference.future?.cancel()
    case .none, .source: break
    }
  }

  // Observers of the progress are user code.
  override func wake() { WorkLoop.current.runInline { [self] in follow() } }

  // The closure that reports may run for long, and inline closures wait for its end.
  override func hearReport() { follow() }

  func follow() {
    let isFirst = state.withLock { state in
      defer { state = state == .idle ? .writing : .writingAndAgain }
      return state == .idle
    }
    guard isFirst else { return }
    repeat { write() } while isNeededAgain()
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
      let completed = value.completed ?? Int64(value.fractionCompleted * 1_000_000)
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
