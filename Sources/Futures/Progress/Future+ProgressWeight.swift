extension Future {
  /// Makes a future with the same result that counts more or less than others where the
  /// progress of several futures becomes one.
  ///
  /// ```swift
  /// let parts = files.map { file in
  ///   upload(file).withProgressWeight(Double(file.size))
  /// }
  /// for await progress in Promises.collect(parts).progressUpdates {
  ///   bar.value = progress.fractionCompleted
  /// }
  /// ```
  ///
  /// `and`, `combine`, `collect` and `collectResults` weigh their inputs. Futures without a
  /// weight count 1. The weight belongs to the returned future; futures made from it count 1
  /// again.
  ///
  /// - Parameter weight: How much the future counts. Zero leaves it out. A negative number
  ///   counts as zero, one of more than 10¹² as 10¹², and `nan` as 1.
  public func withProgressWeight(
    _ weight: Double, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Success> {
    let future = passedThrough(.hasProgressWeight, at: Birthplace(fileID, line))
    future.storage.progressWeight = weight.isNaN ? 1 : min(max(weight, 0), 1e12)
    return future
  }
}

extension AnyFuture {
  /// How much the future counts where progress is joined.
  final var progressWeight: Double {
    traits.contains(.hasProgressWeight) ? storage.progressWeight : 1
  }
}
