import Futures

// Operators between tasks that cannot fail and tasks that can: no `setFailureType(to:)` is
// needed.
//
// Where several forms fit, the compiler takes the one for another task that cannot fail:
// `flatMap { Tasks.just($0) }` means the same in all of them.

extension ProducerTask {
  /// Goes on with another task, which cannot fail.
  ///
  /// See ``flatMap(_:)``.
  ///
  /// - Parameter transform: Makes the task to go on with.
  public final func flatMap<T: ProducerTaskProtocol>(
    _ transform: @escaping @Sendable (Output) -> T
  ) -> ProducerTask<T.Output, Failure> where T.Failure == Never {
    stage(
      "flatMap", [.success, .following],
      take: following(ProducerTask<T.Output, Never>.self, as: Failure.self)
    ) { task, source in task.follow(transform(source.settledValue)) }
  }

  /// Waits for this task and others, which cannot fail, and takes all of their values.
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

  /// Tries again with other tasks, which cannot fail.
  ///
  /// See `retry(_:_:)`.
  ///
  /// - Parameters:
  ///   - policy: How often to try again, how soon, and after which errors.
  ///   - makeTask: Gets the number of the attempt, two at first, and makes its task.
  public final func retry<T: ProducerTaskProtocol>(
    _ policy: RetryPolicy, _ makeTask: @escaping @Sendable (_ attempt: Int) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Never {
    retrying(Attempts(policy) { _, attempt in makeTask(attempt) })
  }

  /// Tries again with other tasks, which cannot fail.
  ///
  /// See `retry(attempts:delay:_:)`.
  ///
  /// - Parameters:
  ///   - attempts: How many attempts there are at most, this task included.
  ///   - delay: How long to wait before the next attempt; not at all by default.
  ///   - makeTask: Gets the number of the attempt, two at first, and makes its task.
  public final func retry<T: ProducerTaskProtocol>(
    attempts: Int, delay: RetryPolicy.Delay = .none,
    _ makeTask: @escaping @Sendable (_ attempt: Int) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Never {
    retrying(
      Attempts(RetryPolicy(attempts: attempts, delay: delay)) { _, attempt in
        makeTask(attempt)
      })
  }

  /// Goes on with another task in the place of an error of a type; the other task cannot fail.
  ///
  /// See `catch(from:_:)`.
  ///
  /// - Parameters:
  ///   - type: The type of the error.
  ///   - handler: Makes the task to go on with.
  public final func `catch`<Caught: Error, T: ProducerTaskProtocol>(
    from type: Caught.Type, _ handler: @escaping @Sendable (Caught) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Never {
    catching(type, take: following(ProducerTask<Output, Never>.self, as: Failure.self)) {
      task, error in task.follow(handler(error))
    }
  }
}

extension ProducerTask where Failure == Never {
  /// Goes on with another task, which may fail.
  ///
  /// See ``flatMap(_:)``.
  ///
  /// - Parameter transform: Makes the task to go on with.
  @_disfavoredOverload
  public final func flatMap<T: ProducerTaskProtocol>(
    _ transform: @escaping @Sendable (Output) -> T
  ) -> ProducerTask<T.Output, T.Failure> {
    stage(
      "flatMap", [.success, .following], convert: convertInternal(Never.self, T.Failure.self)
    ) { task, source in task.follow(transform(source.settledValue)) }
  }

  /// Waits for this task and others, which may fail, and takes all of their values.
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

  /// Tries again with other tasks, which may fail.
  ///
  /// See `retry(_:_:)`.
  ///
  /// - Parameters:
  ///   - policy: How often to try again, how soon, and after which errors.
  ///   - makeTask: Gets the number of the attempt, two at first, and makes its task.
  @_disfavoredOverload
  public final func retry<T: ProducerTaskProtocol>(
    _ policy: RetryPolicy, _ makeTask: @escaping @Sendable (_ attempt: Int) -> T
  ) -> ProducerTask<Output, T.Failure> where T.Output == Output {
    retrying(Attempts(policy) { _, attempt in makeTask(attempt) })
  }
}
