import Foundation

extension Future where Success: Sequence, Success.Element: Sendable {
  /// Transforms each element of the value, in order.
  ///
  /// The first error that the closure throws fails the new future.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes an element of an element.
  public func mapElementsToValue<NewElement: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success.Element) throws -> NewElement
  ) -> Future<[NewElement]> {
    mapToValue(on: context, fileID: fileID, line: line) { try $0.map(transform) }
  }

  /// Transforms each element of the value, in order.
  ///
  /// The closure runs on the main queue.
  ///
  /// The first error that the closure throws fails the new future.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes an element of an element.
  public func mapElementsToValue<NewElement: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success.Element) throws -> NewElement
  ) -> Future<[NewElement]> {
    mapElementsToValue(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Transforms each element of the value, in order, and leaves out `nil`.
  ///
  /// The first error that the closure throws fails the new future.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes an element of an element, or `nil`.
  public func compactMapElementsToValue<NewElement: Sendable>(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success.Element) throws -> NewElement?
  ) -> Future<[NewElement]> {
    mapToValue(on: context, fileID: fileID, line: line) { try $0.compactMap(transform) }
  }

  /// Transforms each element of the value, in order, and leaves out `nil`.
  ///
  /// The closure runs on the main queue.
  ///
  /// The first error that the closure throws fails the new future.
  ///
  /// - Parameters:
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes an element of an element, or `nil`.
  public func compactMapElementsToValue<NewElement: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success.Element) throws -> NewElement?
  ) -> Future<[NewElement]> {
    compactMapElementsToValue(on: .main, fileID: fileID, line: line, using: onMain(transform))
  }

  /// Makes a future of each element of the value; collects their values, in order.
  ///
  /// Elements are taken one by one, as places become free. The first failure
  /// fails the new future as it is; then nothing new is started, and what is
  /// pending is cancelled. With `failingFast: false` every element is tried
  /// first, and the failure is ``ProperationsError/multipleErrors(_:)``.
  /// Cancelling the new future cancels what is pending.
  ///
  /// The closure may do the work of its element itself, and return a future that has
  /// settled (``Promises/makeSucceeded(with:fileID:line:)``). Then a place of the context
  /// does one element after the other, and many elements cost one hop; with a future of
  /// `Promises.run(on:)` each costs its own.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - limit: How many futures may be pending at a time; at least one. No limit if left out.
  ///   - failingFast: `false` to try every element; then a failure has one
  ///     entry for each element, `nil` where it succeeded.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes a future of an element.
  public func mapElementsToFuture<NewElement: Sendable>(
    on context: some ExecutionContext, maxConcurrent limit: Int? = nil, failingFast: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success.Element) throws -> Future<NewElement>
  ) -> Future<[NewElement]> {
    let context = ContextReference(context)
    let birthplace = Birthplace(fileID, line)
    return flattened(.actsOnSuccess, on: .inline, at: birthplace) { result in
      Traversal.start(
        of: try result.get(), maxConcurrent: limit, failingFast: failingFast, on: context,
        at: birthplace
      ) { try transform($0).mapToValue(on: .inline) { .some($0) } }
    }
  }

  /// Makes a future of each element of the value; collects their values, in order.
  ///
  /// The closure runs on the main queue.
  ///
  /// Elements are taken one by one, as places become free. The first failure
  /// fails the new future as it is; then nothing new is started, and what is
  /// pending is cancelled. With `failingFast: false` every element is tried
  /// first, and the failure is ``ProperationsError/multipleErrors(_:)``.
  /// Cancelling the new future cancels what is pending.
  ///
  /// - Parameters:
  ///   - limit: How many futures may be pending at a time; at least one. No limit if left out.
  ///   - failingFast: `false` to try every element; then a failure has one
  ///     entry for each element, `nil` where it succeeded.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes a future of an element.
  public func mapElementsToFuture<NewElement: Sendable>(
    maxConcurrent limit: Int? = nil, failingFast: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @MainActor (Success.Element) throws -> Future<NewElement>
  ) -> Future<[NewElement]> {
    mapElementsToFuture(
      on: .main, maxConcurrent: limit, failingFast: failingFast, fileID: fileID, line: line,
      using: onMain(transform))
  }

  /// Makes a future of each element of the value; collects their values, in order, without `nil`.
  ///
  /// Elements are taken one by one, as places become free. The first failure
  /// fails the new future as it is; then nothing new is started, and what is
  /// pending is cancelled. With `failingFast: false` every element is tried
  /// first, and the failure is ``ProperationsError/multipleErrors(_:)``.
  /// Cancelling the new future cancels what is pending.
  ///
  /// The closure may do the work of its element itself, and return a future that has
  /// settled (``Promises/makeSucceeded(with:fileID:line:)``). Then a place of the context
  /// does one element after the other, and many elements cost one hop; with a future of
  /// `Promises.run(on:)` each costs its own.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - limit: How many futures may be pending at a time; at least one. No limit if left out.
  ///   - failingFast: `false` to try every element; then a failure has one
  ///     entry for each element, `nil` where it succeeded.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes a future of an element.
  public func compactMapElementsToFuture<NewElement: Sendable>(
    on context: some ExecutionContext, maxConcurrent limit: Int? = nil, failingFast: Bool = true,
    fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success.Element) throws -> Future<NewElement?>
  ) -> Future<[NewElement]> {
    let context = ContextReference(context)
    let birthplace = Birthplace(fileID, line)
    return flattened(.actsOnSuccess, on: .inline, at: birthplace) { result in
      Traversal.start(
        of: try result.get(), maxConcurrent: limit, failingFast: failingFast, on: context,
        at: birthplace, transform)
    }
  }

  /// Makes a future of each element of the value; collects their values, in order, without `nil`.
  ///
  /// The closure runs on the main queue.
  ///
  /// Elements are taken one by one, as places become free. The first failure
  /// fails the new future as it is; then nothing new is started, and what is
  /// pending is cancelled. With `failingFast: false` every element is tried
  /// first, and the failure is ``ProperationsError/multipleErrors(_:)``.
  /// Cancelling the new future cancels what is pending.
  ///
  /// - Parameters:
  ///   - limit: How many futures may be pending at a time; at least one. No limit if left out.
  ///   - failingFast: `false` to try every element; then a failure has one
  ///     entry for each element, `nil` where it succeeded.
  ///   - fileID: The file to name in errors; leave it out.
  ///   - line: The line to name in errors; leave it out.
  ///   - transform: Makes a future of an element.
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
