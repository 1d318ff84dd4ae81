import Foundation
import Futures

// Old spellings that have better ones.

extension ProducerTask {
  /// Old spelling of ``receive(completion:)``.
  @available(*, deprecated, renamed: "receive(completion:)")
  @discardableResult
  public final func recieve(
    @_inheritActorContext completion handler:
      @escaping @Sendable @isolated(any) (Produced) -> Void
  ) -> Self { receive(completion: handler) }

  /// Old spelling of ``receive(on:)-(DispatchQueue)``.
  @available(*, deprecated, renamed: "receive(on:)")
  @discardableResult
  public final func recieve(on queue: DispatchQueue) -> Self { receive(on: queue) }
}

extension ProducerTask {
  /// Tries again with other tasks as long as they fail with a provided error.
  ///
  /// Old form of `retry(attempts:delay:_:)`, which counts the first attempt, too.
  ///
  /// - Parameters:
  ///   - count: How many more attempts there may be; none if it is below one.
  ///   - delay: How long to wait before each; not at all by default.
  ///   - isWorthwhile: Gets the last error, and says whether there is any hope;
  ///     if not, it is the result at once. There always is by default.
  ///   - makeTask: Gets the last error, and makes the task of the next attempt.
  @available(
    *, deprecated,
    message: "Use retry(attempts:delay:_:), or a RetryPolicy: they count the first attempt, too."
  )
  @_disfavoredOverload
  public final func retry<T: ProducerTaskProtocol>(
    _ count: Int, delay: Duration = .zero,
    if isWorthwhile: @escaping @Sendable (Failure) -> Bool = { _ in true },
    _ makeTask: @escaping @Sendable (Failure) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure {
    retry(count, delays: { _ in delay }, if: isWorthwhile, makeTask)
  }

  /// Tries again with other tasks, and waits longer and longer between them, or
  /// as you say.
  ///
  /// Old form of `retry(_:_:)`, whose policy has the delays and the closure that looks at
  /// the error.
  ///
  /// - Parameters:
  ///   - count: How many more attempts there may be; none if it is below one.
  ///   - delays: Gets the number of the attempt, beginning with one, and says
  ///     how long to wait before it.
  ///   - isWorthwhile: Gets the last error, and says whether there is any hope;
  ///     if not, it is the result at once. There always is by default.
  ///   - makeTask: Gets the last error, and makes the task of the attempt.
  @available(
    *, deprecated,
    message: "Use retry(_:_:) with a RetryPolicy, which counts the first attempt, too."
  )
  @_disfavoredOverload
  public final func retry<T: ProducerTaskProtocol>(
    _ count: Int, delays: @escaping @Sendable (Int) -> Duration,
    if isWorthwhile: @escaping @Sendable (Failure) -> Bool = { _ in true },
    _ makeTask: @escaping @Sendable (Failure) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure {
    guard count > 0 else { return stage("retry", []) { _, _ in } }
    let policy = RetryPolicy(
      attempts: count == .max ? count : count + 1, delay: .custom { attempt, _ in delays(attempt) },
      retryIf: { error in (error as? Failure).map(isWorthwhile) == true })
    return retrying(
      Attempts(policy, seesInternalErrors: false) { error, _ in
        guard case .provided(let error)? = error else {
          preconditionFailure("The policy is asked after provided errors only.")
        }
        return makeTask(error)
      })
  }

  /// The conditions that have categories, by the first of them.
  @available(*, deprecated, message: "Look at the categories of the conditions.")
  public final var mutuallyExclusiveConditions: [String: AnyCondition] {
    var conditions: [String: AnyCondition] = [:]
    for condition in self.conditions {
      if let category = condition.categories.first {
        conditions[category.description] = condition
      }
    }
    return conditions
  }
}

extension TaskQueue {
  /// Old name of ``addBlock(_:)``.
  @available(*, deprecated, renamed: "addBlock(_:)")
  public final func addBlockTask(_ block: @escaping @Sendable () -> Void) { addBlock(block) }
}

extension Tasks {
  /// Old name of ``VoidTask``, which would shadow Swift's own `Task`.
  @available(*, deprecated, renamed: "VoidTask")
  public typealias Task<Failure: Error> = ProducerTask<Void, Failure>
}

/// Old name of ``ProducerTaskProtocolError``.
@available(*, deprecated, renamed: "ProducerTaskProtocolError")
public typealias ProducerTaskSeparateError<Failure: Error> = ProducerTaskProtocolError<Failure>

extension ProducerTaskProtocolError {
  /// Old name of the case `.internal`.
  @available(*, deprecated, renamed: "internal")
  public static func internalFailure(_ error: any Error) -> Self { .internal(error) }

  /// Old name of the case `.provided`.
  @available(*, deprecated, renamed: "provided")
  public static func providedFailure(_ error: Failure) -> Self { .provided(error) }
}
