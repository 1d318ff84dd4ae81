extension Promises {
  /// Makes a future of each element of a sequence, and collects their values in order.
  ///
  /// ```swift
  /// let pages = Promises.traverse(urls, on: .global(), maxConcurrent: 4) { fetch($0) }
  /// ```
  ///
  /// This is
  /// ``Future/mapElementsToFuture(on:maxConcurrent:failingFast:fileID:line:using:)`` for a
  /// sequence that exists already. Elements are taken one by one, as places become free. So
  /// with a limit the sequence may be lazy and very long. Without one, this call takes all of
  /// its elements.
  ///
  /// The first failure fails the new future with that error, starts no further element, and
  /// cancels what is pending. With `failingFast: false`, every element is tried first, and
  /// the error is ``ProperationsError/multipleErrors(_:)``. Cancelling the new future
  /// cancels what is pending.
  ///
  /// - Parameters:
  ///   - elements: The elements. The first ones are taken before this call returns. Later
  ///     ones are taken on the threads on which futures settle, or on a thread of the
  ///     library, by one thread at a time.
  ///   - context: Where the closure runs.
  ///   - limit: The largest number of futures that are pending at a time, at least one. No
  ///     limit if left out.
  ///   - failingFast: `false` to try every element. Then the error has one entry for each
  ///     element, `nil` for elements that succeeded.
  ///   - transform: Makes a future of an element.
  /// - Returns: A future of all values, in the order of the elements.
  public static func traverse<Elements: Sequence, Success: Sendable>(
    _ elements: sending Elements, on context: some ExecutionContext,
    maxConcurrent limit: Int? = nil, failingFast: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ transform: @escaping @Sendable (Elements.Element) throws -> Future<Success>
  ) -> Future<[Success]> where Elements.Element: Sendable {
    Traversal.start(
      of: elements, maxConcurrent: limit, failingFast: failingFast,
      on: ContextReference(context), at: Birthplace(fileID, line)
    ) { try transform($0).mapToValue(on: .inline) { .some($0) } }
  }

  /// Makes a future of each element of a sequence, and collects their values in order.
  ///
  /// The closure runs on the main queue. See
  /// ``traverse(_:on:maxConcurrent:failingFast:fileID:line:_:)``.
  ///
  /// - Parameters:
  ///   - elements: The elements, which are taken one by one.
  ///   - limit: The largest number of futures that are pending at a time, at least one. No
  ///     limit if left out.
  ///   - failingFast: `false` to try every element.
  ///   - transform: Makes a future of an element.
  /// - Returns: A future of all values, in the order of the elements.
  public static func traverse<Elements: Sequence, Success: Sendable>(
    _ elements: sending Elements, maxConcurrent limit: Int? = nil, failingFast: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line,
    _ transform: @escaping @MainActor (Elements.Element) throws -> Future<Success>
  ) -> Future<[Success]> where Elements.Element: Sendable {
    traverse(
      elements, on: .main, maxConcurrent: limit, failingFast: failingFast, fileID: fileID,
      line: line, onMain(transform))
  }

  /// Finds the first element of a sequence for which a future gives `true`.
  ///
  /// ```swift
  /// let mirror = Promises.find(in: mirrors, on: .global()) { isReachable($0) }
  /// ```
  ///
  /// The closure gets one element after the other, and no element after the first match.
  /// The first failure fails the new future with that error. Cancelling the new future
  /// cancels the pending future of the closure. A sequence of any length needs the memory
  /// and the stack of one element.
  ///
  /// - Parameters:
  ///   - elements: The elements. They are taken in the context, one by one.
  ///   - context: Where the closure runs.
  ///   - predicate: Makes a future that tells whether an element matches.
  /// - Returns: A future of the element, or of `nil` if no element matches.
  public static func find<Elements: Sequence>(
    in elements: sending Elements, on context: some ExecutionContext,
    fileID: StaticString = #fileID, line: UInt = #line,
    where predicate: @escaping @Sendable (Elements.Element) throws -> Future<Bool>
  ) -> Future<Elements.Element?> where Elements.Element: Sendable {
    // As for a traversal: the count without a walk.
    let count = knownCount(of: elements)
    let iterator = SharedIterator(elements)
    return loop(
      (), turns: count, on: ContextReference(context), at: Birthplace(fileID, line)
    ) { _ in
      guard let element = iterator.next() else { return makeSucceeded(with: .done(nil)) }
      return try predicate(element).mapToValue(on: .inline) { $0 ? .done(element) : .next(()) }
    }
  }

  /// Finds the first element of a sequence for which a future gives `true`.
  ///
  /// The closure runs on the main queue. See ``find(in:on:fileID:line:where:)``.
  ///
  /// - Parameters:
  ///   - elements: The elements, which are taken one by one.
  ///   - predicate: Makes a future that tells whether an element matches.
  /// - Returns: A future of the element, or of `nil` if no element matches.
  public static func find<Elements: Sequence>(
    in elements: sending Elements, fileID: StaticString = #fileID, line: UInt = #line,
    where predicate: @escaping @MainActor (Elements.Element) throws -> Future<Bool>
  ) -> Future<Elements.Element?> where Elements.Element: Sendable {
    find(in: elements, on: .main, fileID: fileID, line: line, where: onMain(predicate))
  }
}

/// The iterator of a sequence that the turns of a loop take elements from.
private final class SharedIterator<Element>: @unchecked Sendable {
  // Sendable: one turn runs at a time. Between two turns, the locks of the futures order
  // their accesses.
  private let takeNext: () -> Element?

  init<Elements: Sequence>(_ elements: Elements) where Elements.Element == Element {
    var iterator = elements.makeIterator()
    takeNext = { iterator.next() }
  }

  func next() -> Element? { takeNext() }
}
