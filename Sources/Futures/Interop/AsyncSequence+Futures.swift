extension AsyncSequence where Self: Sendable, Element: Sendable {
  /// Makes a future of the first element.
  ///
  /// ```swift
  /// let first = messages.firstFuture().timeout(after: .seconds(5))
  /// ```
  ///
  /// The sequence is iterated in a Swift task, which begins with this call. Cancelling the
  /// future cancels the task. The future settles, and finishes as an operation, without waiting
  /// for the task.
  ///
  /// - Parameter priority: The priority of the task; that of the caller by default.
  /// - Returns: A future of the first element; of `nil` if the sequence ends without an
  ///   element. The future fails with the error that the sequence throws.
  public func firstFuture(
    priority: TaskPriority? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<Element?> {
    Promises.async(priority: priority, fileID: fileID, line: line) {
      for try await element in self { return element }
      return nil
    }.passedThrough(at: Birthplace(fileID, line))
  }

  /// Makes a future of all elements.
  ///
  /// The sequence is iterated in a Swift task, which begins with this call. Cancelling the
  /// future cancels the task. The future settles, and finishes as an operation, without waiting
  /// for the task. If the sequence never ends, the future stays pending until it is cancelled.
  ///
  /// - Parameter priority: The priority of the task; that of the caller by default.
  /// - Returns: A future of the elements in their order. The future fails with the error
  ///   that the sequence throws.
  public func collectFuture(
    priority: TaskPriority? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<[Element]> {
    Promises.async(priority: priority, fileID: fileID, line: line) {
      var elements: [Element] = []
      for try await element in self { elements.append(element) }
      return elements
    }.passedThrough(at: Birthplace(fileID, line))
  }
}
