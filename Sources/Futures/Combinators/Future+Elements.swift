import Foundation

extension Future where Success: Sequence, Success.Element: Sendable {
  /// Transforms each element of the value, in order.
  ///
  /// An error that the closure throws fails the new future.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - transform: Makes a new element from an element.
  public func mapElementsToValue<NewElement: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success.Element) throws -> NewElement
  ) -> Future<[NewElement]> {
    mapToValue(on: context, fileID: fileID, line: line) { try $0.map(transform) }
  }

  /// Transforms each element of the value, in order.
  ///
  /// The closure runs on the main queue. An error that it throws fails the new future.
  ///
  /// - Parameter transform: Makes a new element from an element.
  public func mapElementsToValue<NewElement: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success.Element) throws -> NewElement
  ) -> Future<[NewElement]> {
    mapElementsToValue(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Transforms each element of the value, in order, and leaves out `nil` results.
  ///
  /// An error that the closure throws fails the new future.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - transform: Makes a new element, or `nil`, from an element.
  public func compactMapElementsToValue<NewElement: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success.Element) throws -> NewElement?
  ) -> Future<[NewElement]> {
    mapToValue(on: context, fileID: fileID, line: line) { try $0.compactMap(transform) }
  }

  /// Transforms each element of the value, in order, and leaves out `nil` results.
  ///
  /// The closure runs on the main queue. An error that it throws fails the new future.
  ///
  /// - Parameter transform: Makes a new element, or `nil`, from an element.
  public func compactMapElementsToValue<NewElement: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success.Element) throws -> NewElement?
  ) -> Future<[NewElement]> {
    compactMapElementsToValue(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Makes a future from each element of the value, and collects their values in order.
  ///
  /// Elements are taken one by one, as the limit allows. The first failure fails the
  /// new future as it is. Then no new future is started, and the pending ones are
  /// cancelled, unless another consumer wants them. With `failingFast: false` every element is
  /// tried first, and the failure is ``ProperationsError/multipleErrors(_:)``. Cancelling the new
  /// future cancels the pending futures.
  ///
  /// The closure may do the work of its element itself, and return a future that has
  /// settled (``Promises/makeSucceeded(with:fileID:line:)``). Then one slot of the
  /// context does one element after the other, and many elements cost one hop. With a
  /// future of `Promises.run(on:)` each element costs a hop of its own.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - limit: The greatest number of futures that may be pending at a time; at least
  ///     one. No limit by default.
  ///   - failingFast: `false` to try every element. A failure then has one entry for each
  ///     element, `nil` where it succeeded.
  ///   - transform: Makes a future from an element.
  public func mapElementsToFuture<NewElement: Sendable>(
    on context: some ExecutionContext, maxConcurrent limit: Int? = nil, failingFast: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success.Element) throws -> Future<NewElement>
  ) -> Future<[NewElement]> {
    compactMapElementsToFuture(
      on: context, maxConcurrent: limit, failingFast: failingFast, fileID: fileID, line: line
    ) { try transform($0).mapToValue(on: .inline) { .some($0) } }
  }

  /// Makes a future from each element of the value, and collects their values in order.
  ///
  /// The closure runs on the main queue.
  ///
  /// Elements are taken one by one, as the limit allows. The first failure fails the
  /// new future as it is. Then no new future is started, and the pending ones are
  /// cancelled, unless another consumer wants them. With `failingFast: false` every element is
  /// tried first, and the failure is ``ProperationsError/multipleErrors(_:)``. Cancelling the new
  /// future cancels the pending futures.
  ///
  /// - Parameters:
  ///   - limit: The greatest number of futures that may be pending at a time; at least
  ///     one. No limit by default.
  ///   - failingFast: `false` to try every element. A failure then has one entry for each
  ///     element, `nil` where it succeeded.
  ///   - transform: Makes a future from an element.
  public func mapElementsToFuture<NewElement: Sendable>(
    maxConcurrent limit: Int? = nil, failingFast: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success.Element) throws -> Future<NewElement>
  ) -> Future<[NewElement]> {
    mapElementsToFuture(
      on: .main, maxConcurrent: limit, failingFast: failingFast, fileID: fileID, line: line,
      using: onMain(transform))
  }

  /// Makes a future from each element of the value, and collects their values in order,
  /// without `nil`.
  ///
  /// Elements are taken one by one, as the limit allows. The first failure fails the
  /// new future as it is. Then no new future is started, and the pending ones are
  /// cancelled, unless another consumer wants them. With `failingFast: false` every element is
  /// tried first, and the failure is ``ProperationsError/multipleErrors(_:)``. Cancelling the new
  /// future cancels the pending futures.
  ///
  /// The closure may do the work of its element itself, and return a future that has
  /// settled (``Promises/makeSucceeded(with:fileID:line:)``). Then one slot of the
  /// context does one element after the other, and many elements cost one hop. With a
  /// future of `Promises.run(on:)` each element costs a hop of its own.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - limit: The greatest number of futures that may be pending at a time; at least
  ///     one. No limit by default.
  ///   - failingFast: `false` to try every element. A failure then has one entry for each
  ///     element, `nil` where it succeeded.
  ///   - transform: Makes a future from an element.
  public func compactMapElementsToFuture<NewElement: Sendable>(
    on context: some ExecutionContext, maxConcurrent limit: Int? = nil, failingFast: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success.Element) throws -> Future<NewElement?>
  ) -> Future<[NewElement]> {
    let context = ContextReference(context)
    let birthplace = Birthplace(fileID, line)
    return flattened([.actsOnSuccess, .worksInHalves], on: .inline, at: birthplace) { result in
      Traversal.start(
        of: try result.get(), maxConcurrent: limit, failingFast: failingFast, on: context,
        at: birthplace, transform)
    }
  }

  /// Makes a future from each element of the value, and collects their values in order,
  /// without `nil`.
  ///
  /// The closure runs on the main queue.
  ///
  /// Elements are taken one by one, as the limit allows. The first failure fails the
  /// new future as it is. Then no new future is started, and the pending ones are
  /// cancelled, unless another consumer wants them. With `failingFast: false` every element is
  /// tried first, and the failure is ``ProperationsError/multipleErrors(_:)``. Cancelling the new
  /// future cancels the pending futures.
  ///
  /// - Parameters:
  ///   - limit: The greatest number of futures that may be pending at a time; at least
  ///     one. No limit by default.
  ///   - failingFast: `false` to try every element. A failure then has one entry for each
  ///     element, `nil` where it succeeded.
  ///   - transform: Makes a future from an element.
  public func compactMapElementsToFuture<NewElement: Sendable>(
    maxConcurrent limit: Int? = nil, failingFast: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success.Element) throws -> Future<NewElement?>
  ) -> Future<[NewElement]> {
    compactMapElementsToFuture(
      on: .main, maxConcurrent: limit, failingFast: failingFast, fileID: fileID, line: line,
      using: onMain(transform))
  }
}
