import Foundation

/// The errors with which the library itself makes a future fail.
///
/// Errors that your closures throw, or that you pass to `fail(with:)`, travel
/// unchanged. Swift's `CancellationError` becomes ``cancelled``.
public enum ProperationsError: Error, Sendable {
  /// The future was cancelled before it had a result.
  case cancelled
  /// The closure of a `compactMapToValue` returned `nil`.
  case compactMapReturnedNil
  /// The closure of an `ensure` returned `false`.
  case ensureFailed
  /// At least one of several futures failed.
  ///
  /// The list has one entry per input, in the order of the inputs, `nil` where the input
  /// succeeded. A very deeply nested entry, or a repeated row of alternatives, is in a
  /// ``NestedErrors``.
  case multipleErrors([(any Error)?])
  /// The producer was released without ever settling its promise.
  case brokenPromise(createdAt: CreationSite)
  /// The future had not settled when its time was up.
  case timedOut(after: Duration)
  /// A race was started without any futures.
  case noFutures
  /// A blocking promise was put on the main queue, which it would block.
  case blockingOnMainQueue
  /// The wait blocks a queue that has to do work before the future can settle.
  case wouldDeadlock(queue: String)
  /// The future would have to wait for itself.
  case cycle(createdAt: CreationSite)
  /// The future is, or was, in an operation queue already.
  case alreadyEnqueued(createdAt: CreationSite)
  /// Wrapped code called its handler with neither a value nor an error.
  case neitherValueNorError(createdAt: CreationSite)
  /// The operation queue is shut down, and takes no new work.
  case queueIsShutDown(queue: String)
  /// The main queue was asked to shut down.
  case mainQueueCannotBeShutDown
}

extension ProperationsError: Equatable {
  /// Compares the cases and their values.
  ///
  /// Two `multipleErrors` are equal when they fail at the same positions with
  /// errors of the same domain and code.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    switch (lhs, rhs) {
    case (.cancelled, .cancelled), (.compactMapReturnedNil, .compactMapReturnedNil),
      (.ensureFailed, .ensureFailed), (.noFutures, .noFutures),
      (.blockingOnMainQueue, .blockingOnMainQueue),
      (.mainQueueCannotBeShutDown, .mainQueueCannotBeShutDown):
      true
    case (.multipleErrors(let a), .multipleErrors(let b)):
      areSame(a, b)
    case (.brokenPromise(let a), .brokenPromise(let b)), (.cycle(let a), .cycle(let b)),
      (.alreadyEnqueued(let a), .alreadyEnqueued(let b)),
      (.neitherValueNorError(let a), .neitherValueNorError(let b)):
      a == b
    case (.timedOut(let a), .timedOut(let b)):
      a == b
    case (.wouldDeadlock(let a), .wouldDeadlock(let b)),
      (.queueIsShutDown(let a), .queueIsShutDown(let b)):
      a == b
    default:
      false
    }
  }
}

extension ProperationsError: LocalizedError {
  /// One or two sentences that say what happened and what to do about it.
  public var errorDescription: String? {
    switch self {
    case .cancelled:
      "The future was cancelled. Use onCancel(_:) to clean up, or shielded() so that "
        + "cancelling one consumer does not cancel work that others share."
    case .compactMapReturnedNil:
      "The closure of compactMapToValue returned nil. Return a value, or recover from this error."
    case .ensureFailed:
      "The condition of ensure was false for this value. Recover from this error, or check the "
        + "value earlier."
    case .multipleErrors(let errors):
      "\(errors.count { $0 != nil }) of \(errors.count) futures failed. Read the errors by "
        + "position, or use collectResults(_:) to get every outcome. First error: "
        + "\(Self.first(of: errors)?.text ?? "none")"
    case .brokenPromise(let site):
      "The producer of \(site) was released before it settled the future. Keep the promise until "
        + "every path of the producer has called succeed, fail or cancel. An execution context of "
        + "your own has to start each operation that it gets."
    case .timedOut(let duration):
      "No result after \(duration). Allow more time, or find out why the work does not finish."
    case .noFutures:
      "A race needs at least one future. Check for an empty collection before racing."
    case .blockingOnMainQueue:
      "A blocking promise would block the main queue. Make it on a private operation queue, "
        + "usually one with maxConcurrentOperationCount = 1."
    case .wouldDeadlock(let queue):
      "Waiting on \(queue) for a future that needs \(queue) to settle would never end. Await its "
        + "value, attach a handler, or wait on another queue."
    case .cycle(let site):
      "\(site) would have to wait for itself. Fulfill it from a future that is not derived "
        + "from it."
    case .alreadyEnqueued(let site):
      "\(site) is already in an operation queue, or has been in one. Enqueue each future once."
    case .neitherValueNorError(let site):
      "The handler of \(site) was called with neither a value nor an error. Make the wrapped code "
        + "pass one of them, or wrap it with a handler that takes an optional value."
    case .queueIsShutDown(let queue):
      "New work was put in \(queue) after shutDown(within:). Check isShutDown before, or use "
        + "another queue."
    case .mainQueueCannotBeShutDown:
      "The main queue serves the whole program and cannot be shut down. Shut down the queues "
        + "that you have made."
    }
  }
}

extension Error {
  /// The error's own message for people, or else its description.
  package var text: String {
    (self as? any LocalizedError)?.errorDescription ?? String(describing: self)
  }
}

/// An error of another module of the library that can represent a cancellation, or wraps
/// the user's error.
package protocol CancellationRepresenting: Error {
  /// Whether the error represents a cancellation.
  var saysCancelled: Bool { get }
  /// The wrapped errors, the outermost first.
  var wrappedErrors: [any Error] { get }
}

extension Error {
  /// This error, or the first error that the library has wrapped in it, that has the
  /// given type.
  package func matched<Failure: Error>(as type: Failure.Type) -> Failure? {
    if let error = self as? Failure { return error }
    guard let wrapper = self as? any CancellationRepresenting else { return nil }
    return wrapper.wrappedErrors.lazy.compactMap { $0 as? Failure }.first
  }

  /// Whether this error represents a cancellation.
  package var isCancellation: Bool {
    if let error = self as? ProperationsError {
      if case .cancelled = error { return true }
      return false
    }
    if self is CancellationError { return true }
    return (self as? any CancellationRepresenting)?.saysCancelled ?? false
  }
}
