import Futures

// Operators between tasks that cannot fail and tasks that can, without
// `setFailureType(to:)`.
//
// If several forms fit, the compiler takes the form for another task that cannot fail:
// `flatMap { Tasks.just($0) }` means the same in all of them.

extension ProducerTask {
  /// Continues with another task that cannot fail.
  ///
  /// See ``flatMap(_:)``.
  ///
  /// - Parameter transform: Makes the task to continue with.
  public final func flatMap<T: ProducerTaskProtocol>(
    _ transform: @escaping @Sendable (Output) -> T
  ) -> ProducerTask<T.Output, Failure> where T.Failure == Never {
    stage(
      "flatMap", [.success, .following],
      take: following(ProducerTask<T.Output, Never>.self, as: Failure.self)
    ) { task, source in task.follow(transform(source.settledValue)) }
  }

  /// Waits for this task and other tasks that cannot fail, and takes all their values.
  ///
  /// See ``zip(_:fileID:line:)``.
  ///
  /// - Parameter others: Any number of tasks.
  public final func zip<each Other: Sendable>(
    _ others: repeat ProducerTask<each Other, Never>,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ProducerTask<(Output, repeat each Other), Failure> {
    zipping(repeat each others, at: Birthplace(fileID, line))
  }

  /// Tries again with other tasks that cannot fail.
  ///
  /// See `retry(_:_:)`.
  ///
  /// - Parameters:
  ///   - policy: How often to try again, after which delays and after which errors.
  ///   - makeTask: Gets the number of the attempt, which starts with two, and makes its
  ///     task.
  public final func retry<T: ProducerTaskProtocol>(
    _ policy: RetryPolicy, _ makeTask: @escaping @Sendable (_ attempt: Int) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Never {
    retrying(Attempts(policy) { _, attempt in makeTask(attempt) })
  }

  /// Tries again with other tasks that cannot fail.
  ///
  /// See `retry(attempts:delay:_:)`.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of attempts, including this task.
  ///   - delay: The wait before the next attempt; none by default.
  ///   - makeTask: Gets the number of the attempt, which starts with two, and makes its
  ///     task.
  public final func retry<T: ProducerTaskProtocol>(
    attempts: Int, delay: RetryPolicy.Delay = .none,
    _ makeTask: @escaping @Sendable (_ attempt: Int) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Never {
    retry(RetryPolicy(attempts: attempts, delay: delay), makeTask)
  }

  /// Continues with another task that cannot fail, after an error of a given type.
  ///
  /// See `catch(from:_:)`.
  ///
  /// - Parameters:
  ///   - type: The type of the error.
  ///   - handler: Makes the task to continue with.
  public final func `catch`<Caught: Error, T: ProducerTaskProtocol>(
    from type: Caught.Type, _ handler: @escaping @Sendable (Caught) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Never {
    catching(type, take: following(ProducerTask<Output, Never>.self, as: Failure.self)) {
      task, error in task.follow(handler(error))
    }
  }
}

extension ProducerTask where Failure == Never {
  /// Continues with another task that may fail.
  ///
  /// See ``flatMap(_:)``.
  ///
  /// - Parameter transform: Makes the task to continue with.
  @_disfavoredOverload
  public final func flatMap<T: ProducerTaskProtocol>(
    _ transform: @escaping @Sendable (Output) -> T
  ) -> ProducerTask<T.Output, T.Failure> {
    stage(
      "flatMap", [.success, .following], convert: converting(to: T.Failure.self)
    ) { task, source in task.follow(transform(source.settledValue)) }
  }

  /// Waits for this task and other tasks that may fail, and takes all their values.
  ///
  /// See ``zip(_:fileID:line:)``.
  ///
  /// - Parameter others: Any number of tasks with the same type of failure.
  @_disfavoredOverload
  public final func zip<NewFailure: Error, each Other: Sendable>(
    _ others: repeat ProducerTask<each Other, NewFailure>,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ProducerTask<(Output, repeat each Other), NewFailure> {
    zipping(repeat each others, at: Birthplace(fileID, line))
  }

  /// Tries again with other tasks that may fail.
  ///
  /// See `retry(_:_:)`.
  ///
  /// - Parameters:
  ///   - policy: How often to try again, after which delays and after which errors.
  ///   - makeTask: Gets the number of the attempt, which starts with two, and makes its
  ///     task.
  @_disfavoredOverload
  public final func retry<T: ProducerTaskProtocol>(
    _ policy: RetryPolicy, _ makeTask: @escaping @Sendable (_ attempt: Int) -> T
  ) -> ProducerTask<Output, T.Failure> where T.Output == Output {
    retrying(Attempts(policy) { _, attempt in makeTask(attempt) })
  }
}
