import Foundation

/// A failure that no code has looked at.
///
/// Code looks at a failure if it can get the error:
///
/// - a closure that is called with errors or in place of a value: `recover`, `mapError`,
///   `mapResult`, `onFailure`, `onCompletion`;
/// - a combinator that takes over the failure. Then the future that it makes has failed, and
///   is the one to look at. So of a chain only the last future is reported, and only once;
/// - an await, a blocking ``Future/wait(timeout:)-(Duration?)``, a stream of completions;
/// - ``Future/result`` or ``AnyFuture/error``, read after the failure;
/// - any of these that had attached to the future, and has left it before it got the error:
///   for example a race that was decided earlier, or a future that was cancelled.
///
/// `onSuccess`, `onCancel`, `always`, `shielded` and `withProgressWeight` do not look at errors.
/// The futures that they return share the failure: code that looks at one of them, or at the
/// future that failed first, looks at all, and there is one report. Operations that depend on the
/// future, `waitUntilFinished()`, ``AnyFuture/isFulfilled``, a ``CancellationScope`` and the
/// future's description do not look either. Cancellation is no failure.
///
/// Only failures that happen while an observer is installed are reported.
/// ``AnyFuture/ignoreFailure()`` says that a failure may be lost.
public struct LostFailure: Sendable, CustomStringConvertible {
  /// The error of the failed future.
  public let error: any Error
  /// The place where the future was made.
  public let createdAt: CreationSite
  /// The name of the future, if it has one.
  public let name: String?

  /// A sentence that says what was lost and what to do.
  public var description: String {
    "No code has looked at the failure of \(AnyFuture.title(createdAt, name)): \(error). "
      + "Handle the error, for example with onFailure, or call ignoreFailure()."
  }
}

/// A promise that was released before it was settled.
///
/// The futures that waited for it have failed with
/// ``ProperationsError/brokenPromise(createdAt:)``.
public struct BrokenPromise: Sendable, CustomStringConvertible {
  /// The place where the promise was made.
  public let createdAt: CreationSite
  /// The name of the promise, if it has one.
  public let name: String?

  /// A sentence that says which promise was dropped and what to do.
  public var description: String {
    "\(AnyFuture.title(createdAt, name)) was released before it was settled. "
      + "Keep the promise until its work ends, and settle it on every path."
  }
}

/// A promise that had settled and was settled again.
///
/// The second settlement has changed nothing. A settlement of a cancelled promise, and a
/// cancellation, are not reported: a producer need not know that its promise was cancelled.
public struct RepeatedSettlement: Sendable, CustomStringConvertible {
  /// The place where the promise was made.
  public let createdAt: CreationSite
  /// The name of the promise, if it has one.
  public let name: String?
  /// The error of the settlement that counts, or `nil` if the promise has succeeded.
  public let firstError: (any Error)?
  /// The error of the settlement that was ignored, or `nil` if that was a success or a future
  /// that had not settled.
  public let secondError: (any Error)?
  /// The calls that led to the settlement that was ignored, innermost first.
  ///
  /// The place of the first settlement is not known, because promises do not record it.
  public let secondCallStack: [String]

  /// A sentence that says which promise was settled twice and what to do.
  public var description: String {
    let first = firstError.map { "failed (\($0))" } ?? "succeeded"
    let second = secondError.map { "a failure (\($0))" } ?? "a value"
    return
      "\(AnyFuture.title(createdAt, name)) had \(first) when it was settled again with \(second), "
      + "which had no effect. Settle a promise on exactly one path."
  }
}

/// A main queue on which a closure has waited too long.
public struct StalledMainQueue: Sendable, CustomStringConvertible {
  /// The time that the closure has waited.
  public let waited: Duration
  /// The place where the future of the waiting closure was made.
  public let createdAt: CreationSite

  /// A sentence that says which closure waits and what to do.
  public var description: String {
    "A closure of \(createdAt) has waited for the main queue for \(waited). Let the main thread "
      + "return to its run loop, or call dispatchMain(), or name another context with on:."
  }
}

/// A closure that ran longer than the limit.
///
/// The time of an async closure of `queue.run` includes its awaits, because it holds its slot
/// meanwhile.
public struct SlowClosure: Sendable, CustomStringConvertible {
  /// The time that the closure took.
  public let duration: Duration
  /// The place where the future of the closure was made.
  public let createdAt: CreationSite
  /// The queue or the context on which the closure ran.
  public let context: String

  /// A sentence that says which closure was slow.
  public var description: String {
    "A closure of \(createdAt) ran for \(duration) on \(AnyFuture.shortened(context))."
  }
}
