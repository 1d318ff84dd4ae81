import Foundation

// Names from the first Properations system that have other names here. Each does what it
// did there.

/// The old name of ``Future``, from the first Properations system.
@available(*, deprecated, renamed: "Future")
public typealias FutureOperation<Success: Sendable> = Future<Success>

/// The old name of ``Promise``, from the first Properations system.
@available(*, deprecated, renamed: "Promise")
public typealias PromiseOperation<Success: Sendable> = Promise<Success>

/// A type that has the result of asynchronous work.
///
/// In the first Properations system, all futures conform to it.
@available(*, deprecated, renamed: "Future", message: "Only Future conforms to it.")
public protocol FutureResultable {
  /// The type of the value.
  associatedtype Success

  /// The result of the work; `nil` while the work is pending.
  var result: FutureResult<Success>? { get }
}

@available(*, deprecated)
extension FutureResultable {
  /// Whether there is a result; older name of ``AnyFuture/isFulfilled``.
  @available(*, deprecated, renamed: "isFulfilled")
  public var isResultFulfilled: Bool { result != nil }
}

@available(*, deprecated)
extension Future: FutureResultable {}

extension Promises {
  /// Makes a promise that belongs to a queue; use ``make(promising:in:fileID:line:)``.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise belongs to.
  ///   - type: The type of the value.
  @available(*, deprecated, renamed: "make(promising:in:)")
  public static func make<Success: Sendable>(
    on queue: OperationQueue?, promising type: Success.Type,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Success> {
    make(promising: type, in: queue, fileID: fileID, line: line)
  }

  /// Makes a promise that belongs to a queue, and settles it; use
  /// ``makeFulfilled(with:fileID:line:)``.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise belongs to.
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
  /// Makes a settled promise; use `Promises.makeFulfilled(with:)`.
  ///
  /// - Parameters:
  ///   - queue: The queue that the promise belongs to; none by default.
  ///   - result: The value or the error.
  @available(*, deprecated, message: "Use Promises.makeFulfilled(with:).")
  public static func makeFulfilled(
    on queue: OperationQueue? = nil, with result: FutureResult<Success>,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Promise<Success> {
    Promises.makeFulfilled(on: queue, with: result, fileID: fileID, line: line)
  }
}
