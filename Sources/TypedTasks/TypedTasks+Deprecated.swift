import Foundation
import Futures

// Deprecated spellings, with their replacements.

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
  /// The old form of `retry(attempts:delay:_:)`, which counts the first attempt too.
  ///
  /// - Parameters:
  ///   - count: The maximum number of additional attempts; a number below one means none.
  ///   - delay: The wait before each additional attempt; zero by default.
  ///   - isWorthwhile: Gets the last error and returns whether to try again. If not, that
  ///     error is the result at once. The default always tries again.
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

  /// Tries again with other tasks, after delays that a closure decides.
  ///
  /// The old form of `retry(_:_:)`, whose policy has the delays and the closure that
  /// examines the error.
  ///
  /// - Parameters:
  ///   - count: The maximum number of additional attempts; a number below one means none.
  ///   - delays: Gets the number of the additional attempt, which starts with one, and
  ///     returns the wait before it.
  ///   - isWorthwhile: Gets the last error and returns whether to try again. If not, that
  ///     error is the result at once. The default always tries again.
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

  /// The conditions that have categories, by their first category.
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

extension ProducerTask {
  /// Collects the values of this task and others: old name of `collect(with:)`.
  ///
  /// - Parameter others: The other tasks.
  @available(*, deprecated, renamed: "collect(with:)")
  public final func merge(
    with others: ProducerTask<Output, Failure>...,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ProducerTask<[Output], Failure> {
    Tasks.collect([self] + others, fileID: fileID, line: line)
  }

  /// Makes a value when a task without a value has succeeded.
  ///
  /// - Parameter output: Makes the value.
  @available(*, deprecated, message: "Use map { _ in value }.")
  public final func replaceEmpty<NewOutput: Sendable>(
    with output: @escaping @Sendable () -> NewOutput
  ) -> ProducerTask<NewOutput, Failure> where Output == Void { map { _ in output() } }
}

extension Observers.Timeout {
  /// How long a task may execute, in seconds.
  @available(*, deprecated, message: "Use duration.")
  public var timeout: TimeInterval { duration / .seconds(1) }

  /// Makes an observer with a limit in seconds.
  ///
  /// - Parameters:
  ///   - timeout: How long the task may execute, in seconds.
  ///   - endsTask: `false` if the observer only asks the task to cancel.
  @available(*, deprecated, message: "Use Observers.Timeout(.seconds(n)).")
  public convenience init(timeout: TimeInterval, endsTask: Bool = true) {
    let seconds = timeout.isNaN ? 0 : min(max(timeout, 0), 3_000_000_000)
    self.init(.nanoseconds(Int64(seconds * 1e9)), endsTask: endsTask)
  }
}

extension Conditions.Silent {
  /// Leaves the dependency of a condition away: old spelling of ``init(_:)``.
  ///
  /// - Parameter condition: The other condition.
  @available(*, deprecated, renamed: "init(_:)")
  public init(condition: Base) { self.init(condition) }
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
