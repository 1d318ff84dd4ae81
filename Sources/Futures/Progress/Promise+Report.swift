import Foundation

extension Promise {
  /// Reports how far the work of the promise has come.
  ///
  /// ```swift
  /// func copy(_ files: [URL]) -> Future<Int> {
  ///   let promise = Promises.make(promising: Int.self)
  ///   DispatchQueue.global().async {
  ///     for (index, file) in files.enumerated() {
  ///       upload(file)
  ///       promise.report(completed: index + 1, of: files.count)
  ///     }
  ///     promise.succeed(with: files.count)
  ///   }
  ///   return promise
  /// }
  /// ```
  ///
  /// The watchers of this future, and of the futures made from it, learn of it
  /// (``AnyFuture/progressUpdates``). It can be called on any thread. After the promise has
  /// settled a report does nothing.
  ///
  /// A report of the same total with fewer completed units is ignored, because threads may
  /// report out of order. A report of another total counts as it is, even if the fraction
  /// falls.
  ///
  /// - Parameters:
  ///   - completed: The completed units. Less than zero counts as zero, and more than `total`
  ///     as `total`.
  ///   - total: The units that there are in all. Zero or less means that the total is unknown.
  /// - Complexity: O(the number of sequences and `Progress` objects that watch the promise), in
  ///   whatever number of futures is made from it.
  public final func report(completed: some BinaryInteger, of total: some BinaryInteger) {
    publishReport(completed: completed, of: total)
  }

  /// Reports what a Foundation `Progress` says at this moment.
  ///
  /// The call reads the progress once and does not observe it. Call it where the progress
  /// changes, for example in the callback that the observed API offers. An indeterminate
  /// progress reports that the total is unknown. Where a `Progress` has children its units
  /// stand still between their ends, so its fraction is reported, in millionths.
  ///
  /// - Parameter progress: The progress to read.
  public final func report(from progress: Progress) {
    let (completed, total) = (progress.completedUnitCount, progress.totalUnitCount)
    let fraction = progress.fractionCompleted
    let isWhole = total > 0 && abs(Double(completed) / Double(total) - fraction) < 1e-9
    if total <= 0 || progress.isIndeterminate || isWhole || !fraction.isFinite {
      report(completed: completed, of: progress.isIndeterminate ? 0 : total)
    } else {
      report(completed: FutureProgress.units(fraction, of: 1_000_000), of: 1_000_000)
    }
  }

  /// Reports what a Foundation `Progress` says, now and again and again until the promise has
  /// settled.
  ///
  /// ```swift
  /// let promise = Promises.make(promising: Data.self)
  /// promise.report(from: download.progress, every: .milliseconds(200))
  /// ```
  ///
  /// A `Progress` cannot be observed on Linux, so a timer reads it. Each reading counts as
  /// ``report(from:)``. The `Progress` is kept until the promise settles or is
  /// released. The promise is not kept.
  /// Cancelling the `Progress` does not cancel the promise.
  ///
  /// - Parameters:
  ///   - progress: The progress to read.
  ///   - interval: The time between two readings; from a millisecond to a century.
  ///   - clock: Measures the time; a `ManualClock` in tests. If its `sleep` throws, the
  ///     readings end.
  public final func report(
    from progress: Progress, every interval: Duration,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    let readings = ProgressReadings(of: progress, every: max(interval, .milliseconds(1)), clock)
    if watch(with: readings) { readings.read(for: self) }
  }
}

/// Reads a Foundation `Progress` again and again until a promise has settled.
///
///   waiting ── timer ──▶ waiting for the next timer
///      └── the promise settles or is released ──▶ over
private final class ProgressReadings: CallbackWaiter, @unchecked Sendable {
  // Sendable: `state` is a lock, the rest never changes.
  private struct State {
    /// The timer of the next reading.
    var timer: Timer?
    /// The number of readings.
    var count = 0
    var isOver = false
  }

  private let progress: Progress
  private let interval: Duration
  private let clock: any Clock<Duration>
  private let state = Lock(State())

  init(of progress: Progress, every interval: Duration, _ clock: any Clock<Duration>) {
    self.progress = progress
    self.interval = interval
    self.clock = clock
    super.init()
  }

  override var isConsumer: Bool { false }
  override var isDone: Bool { state.withLock { $0.isOver } }

  /// Reports what the progress says, and plans the next reading.
  func read<Success>(for promise: Promise<Success>) {
    promise.report(from: progress)
    let number = state.withLock { state in
      state.count += 1
      return state.count
    }
    let next = Timer(after: interval, on: clock) { [weak self, weak promise] result in
      if result.isSuccess, let promise { self?.read(for: promise) }
    }
    let isOver = state.withLock { state in
      // The timer may have rung. Then that of a later reading must not be replaced.
      if !state.isOver, state.count == number { state.timer = next }
      return state.isOver
    }
    if isOver { next.cancel() }
  }

  override func deliver(_ source: AnyFuture) {
    let timer = state.withLock { state in
      state.isOver = true
      return state.timer.take()
    }
    // A clock of the user may act at once.
    if let timer { WorkLoop.current.runInline { timer.cancel() } }
  }
}

extension AnyFuture {
  /// Stores a report and tells the listeners, without a lock held.
  package final func publishReport(
    completed: some BinaryInteger, of total: some BinaryInteger
  ) {
    guard !isSettled else { return }
    let progress = FutureProgress(
      completed: Int64(clamping: completed), of: Int64(clamping: total))
    for watch in storage.report(progress) { watch.hasReport() }
  }
}
