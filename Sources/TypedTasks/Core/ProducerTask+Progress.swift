import Futures

extension ProducerTask {
  /// Reports how far the work of the task has come.
  ///
  /// ```swift
  /// let copy = BlockProducerTask<Int, CopyError> { task, finish in
  ///   for (index, file) in files.enumerated() {
  ///     store(file)
  ///     task.report(completed: index + 1, of: files.count)
  ///   }
  ///   finish(.success(files.count))
  /// }
  /// queue.addTask(copy)
  /// for await progress in copy.progressUpdates {
  ///   bar.value = progress.fractionCompleted
  /// }
  /// ```
  ///
  /// The report is for `currentProgress`, `progressUpdates` and `makeProgress()` of the task,
  /// of operators of it such as `map` and `zip`, and of futures made from it. The async work of
  /// an ``AsyncProducerTask`` can also call `Promises.report(completed:of:)`. It can be called on
  /// any thread. After the task has finished a report does nothing. A report for an operator
  /// takes the place of the progress of its upstream.
  ///
  /// A report of the same total with fewer completed units is ignored, because threads may
  /// report out of order. A report of another total counts as it is, even if the fraction
  /// falls.
  ///
  /// - Parameters:
  ///   - completed: The completed units. Less than zero counts as zero, and more than `total`
  ///     as `total`.
  ///   - total: The units that there are in all. Zero or less means that the total is unknown.
  public final func report(completed: some BinaryInteger, of total: some BinaryInteger) {
    publishReport(completed: completed, of: total)
  }
}
