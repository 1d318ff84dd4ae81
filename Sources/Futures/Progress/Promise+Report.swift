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
      report(completed: completed, of: total)
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
  /// ``report(from:)``. The timer keeps the `Progress` and does not keep the promise; it goes at
  /// most one interval after the promise has settled.
  /// Cancelling the `Progress` does not cancel the promise.
  ///
  /// - Parameters:
  ///   - progress: The progress to read.
  ///   - interval: The time between two readings; less than a millisecond counts as one.
  ///   - clock: Measures the time; a `ManualClock` in tests. If its `sleep` throws, the
  ///     readings end.
  public final func report(
    from progress: Progress, every interval: Duration,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    guard !isSettled else { return }
    report(from: progress)
    _ = Timer(after: max(interval, .milliseconds(1)), on: clock) { [weak self] result in
      if result.isSuccess { self?.report(from: progress, every: interval, clock: clock) }
    }
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
