extension Promises {
  /// Reports how far the async closure that calls this function has come.
  ///
  /// ```swift
  /// let count = Promises.async {
  ///   for (index, file) in files.enumerated() {
  ///     try await copy(file)
  ///     Promises.report(completed: index + 1, of: files.count)
  ///   }
  ///   return files.count
  /// }
  /// ```
  ///
  /// The report is for the future of the closure's result, and counts as
  /// ``Promise/report(completed:of:)`` does. It works in the closures of
  /// ``async(priority:fileID:line:_:)``, ``async(retrying:priority:fileID:line:_:)``,
  /// ``Permits/withPermit(priority:fileID:line:_:)`` and `OperationQueue.run`, in the work of an
  /// `AsyncProducerTask`, in functions that they call, and in their child tasks. If such a
  /// closure runs inside another one, the report is for the inner one.
  ///
  /// Elsewhere, as in the condition of a task, and after the closure has returned, the call
  /// does nothing. So a function can report without knowing who calls it.
  ///
  /// - Parameters:
  ///   - completed: The completed units. Less than zero counts as zero, and more than `total`
  ///     as `total`.
  ///   - total: The units that there are in all. Zero or less means that the total is unknown.
  /// - Complexity: As for ``Promise/report(completed:of:)``, in whatever number of functions and
  ///   tasks is between the closure and the call.
  public static func report(completed: some BinaryInteger, of total: some BinaryInteger) {
    RunningClosure.current?.futureOfReports?.publishReport(completed: completed, of: total)
  }
}
