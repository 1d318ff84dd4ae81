import Foundation

// Names of Properations, the first system, that have others here. They do what they did
// there.

/// The name in Properations of the class ``Future``.
@available(*, deprecated, renamed: "Future")
public typealias FutureOperation<Success: Sendable> = Future<Success>

/// The name in Properations of the class ``Promise``.
@available(*, deprecated, renamed: "Promise")
public typealias PromiseOperation<Success: Sendable> = Promise<Success>

/// A type that has the result of asynchronous work: in Properations, what all futures
/// conform to.
@available(*, deprecated, renamed: "Future", message: "Only Future conforms to it.")
public protocol FutureResultable {
  /// The type of the value.
  associatedtype Success

  /// What the work has settled with, or `nil` while it has not.
  var result: FutureResult<Success>? { get }
}

@available(*, deprecated)
extension FutureResultable {
  /// Whether there is a result: ``AnyFuture/isFulfilled`` in an older spelling.
  @available(*, deprecated, renamed: "isFulfilled")
  public var isResultFulfilled: Bool { result != nil }
}

@available(*, deprecated)
extension Future: FutureResultable {}

extension Promises {
  /// Makes a promise that belongs to a queue: ``make(promising:in:fileID:line:)`` with the
  /// labels of Properations.
  ///
  /// - Parameters:
  ///   - queue: A queue that the promise belongs to.
  ///   - type: The type of the value.
  @available(*, deprecated, renamed: "make(promising:in:)")
  public static func make<Success: Sendable>(
    on queue: OperationQueue?, promising type: Success.Type,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Success> {
    make(promising: type, in: queue, fileID: fileID, line: line)
  }

  /// Makes a promise that belongs to a queue, and settles it: in Properations,
  /// ``makeFulfilled(with:fileID:line:)`` with a queue.
  ///
  /// - Parameters:
  ///   - queue: A queue that the promise belongs to.
  ///   - result: The value or the error.
  @available(
    *, deprecated, renamed: "makeFulfilled(with:)", message: "A settled future needs no queue."
  )
  public static func makeFulfilled<Success: Sendable>(
    on queue: OperationQueue?, with result: FutureResult<Success>,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Success> {
    let promise = make(promising: Success.self, in: queue, fileID: fileID, line: line)
    promise.fulfill(with: result)
    return promise
  }
}

extension Promise {
  /// Makes a promise that has settled: `Promises.makeFulfilled(with:)` with the type on the
  /// left, as in Properations.
  ///
  /// - Parameters:
  ///   - queue: A queue that the promise belongs to; none by default.
  ///   - result: The value or the error.
  @available(*, deprecated, message: "Use Promises.makeFulfilled(with:).")
  public static func makeFulfilled(
    on queue: OperationQueue? = nil, with result: FutureResult<Success>,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Success> {
    let promise = Promises.make(promising: Success.self, in: queue, fileID: fileID, line: line)
    promise.fulfill(with: result)
    return promise
  }
}
