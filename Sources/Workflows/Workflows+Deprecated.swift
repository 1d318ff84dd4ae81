import Foundation
import Futures

/// The older name of `RetryPolicy`, which futures, typed tasks and workflows share.
@available(*, deprecated, renamed: "RetryPolicy")
public typealias TaskRetryPolicy = RetryPolicy

extension RetryPolicy {
  /// Makes a policy: the older spelling of
  /// `init(attempts:delay:jitter:deadline:budget:clock:retryIf:)`.
  ///
  /// - Parameters:
  ///   - attempts: How often the work runs at most; less than one counts as one.
  ///   - delay: How long to wait before the next attempt.
  ///   - isWorthwhile: Decides from the error whether to try again.
  @available(*, deprecated, message: "Use retryIf: in the place of if:")
  @_disfavoredOverload
  public init(
    attempts: Int, delay: Delay = .none, if isWorthwhile: @escaping @Sendable (any Error) -> Bool
  ) {
    self.init(attempts: attempts, delay: delay, retryIf: isWorthwhile)
  }
}

extension RetryPolicy.Delay {
  /// Makes an exponential delay: the older spelling of `exponential(_:factor:maximum:)`.
  ///
  /// - Parameters:
  ///   - first: The first wait.
  ///   - factor: The factor by which each wait is longer than the previous one.
  ///   - cap: The longest wait.
  @available(*, deprecated, renamed: "exponential(_:factor:maximum:)")
  public static func exponential(
    from first: Duration, factor: Double = 2, cap: Duration = .seconds(60)
  ) -> Self {
    .exponential(first, factor: factor, maximum: cap)
  }
}

extension AnyWorkflowTask {
  /// Makes the task run in a context of its own: old name of ``setContext(_:)``.
  ///
  /// - Parameter context: Where the task runs from its next start on.
  @available(*, deprecated, renamed: "setContext(_:)")
  public final func run(on context: some ExecutionContext) { setContext(context) }
}

extension OperationWorkflowTask {
  /// Makes a task of a closure that makes an operation: old spelling of
  /// ``init(name:in:make:result:)``.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - queue: The queue that runs the operations.
  ///   - make: Makes the operation of a run, in no queue.
  ///   - result: Takes the result from the finished operation.
  @available(*, deprecated, renamed: "init(name:in:make:result:)")
  public convenience init(
    name: String? = nil, on queue: OperationQueue?,
    make: @escaping @Sendable (_ task: TaskWork<Output>) throws -> Work,
    result: @escaping @Sendable (_ operation: Work) throws -> Output
  ) {
    self.init(name: name, in: queue, make: make, result: result)
  }
}

extension OperationWorkflowTask where Output == Void {
  /// Makes a task of a closure that makes an operation: old spelling of
  /// ``init(name:in:make:)``.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - queue: The queue that runs the operations.
  ///   - make: Makes the operation of a run, in no queue.
  @available(*, deprecated, renamed: "init(name:in:make:)")
  public convenience init(
    name: String? = nil, on queue: OperationQueue?,
    make: @escaping @Sendable (_ task: TaskWork<Output>) throws -> Work
  ) {
    self.init(name: name, in: queue, make: make)
  }
}
