import Foundation
import Futures

extension ProducerTask {
  /// Puts another error in the place of a provided one.
  ///
  /// Values and internal errors pass by.
  ///
  /// - Parameter transform: Makes the new error.
  public final func mapError<NewFailure: Error>(
    _ transform: @escaping @Sendable (Failure) -> NewFailure
  ) -> ProducerTask<Output, NewFailure> {
    recovering("mapError", NewFailure.self) { task, error in
      task.fail(with: .provided(transform(error)))
    }
  }

  /// Gives a task that cannot fail a type of failure.
  ///
  /// - Parameter type: The type.
  public final func setFailureType<NewFailure: Error>(
    to type: NewFailure.Type
  ) -> ProducerTask<Output, NewFailure> where Failure == Never {
    recovering("setFailureType", NewFailure.self) { _, _ in }
  }

  /// Puts a value in the place of a provided error.
  ///
  /// Internal errors, cancellation for one, pass by: the new task cannot fail
  /// in a way of its own, and still can be cancelled.
  ///
  /// - Parameter output: Makes the value.
  public final func replaceError(
    with output: @escaping @Sendable (Failure) -> Output
  ) -> NonFailProducerTask<Output> {
    recovering("replaceError", Never.self) { task, error in task.succeed(with: output(error)) }
  }

  /// Puts a value in the place of a provided error.
  ///
  /// - Parameter output: The value.
  public final func replaceError(with output: Output) -> NonFailProducerTask<Output> {
    replaceError { _ in output }
  }

  /// Goes on with another task in the place of a provided error.
  ///
  /// The closure's task is put in this one's queue, if it is in none. Values and
  /// internal errors pass by. Cancelling the stage cancels it.
  ///
  /// - Parameter handler: Makes the task to go on with; it may fail in another
  ///   way.
  public final func `catch`<T: ProducerTaskProtocol>(
    _ handler: @escaping @Sendable (Failure) -> T
  ) -> ProducerTask<Output, T.Failure> where T.Output == Output {
    recovering("catch", T.Failure.self) { task, error in task.follow(handler(error)) }
  }

  /// Goes on with another task in the place of a provided error, or fails.
  ///
  /// What the closure throws, and what its task fails with, is the `.provided`
  /// error. Values and internal errors pass by.
  ///
  /// - Parameter handler: Makes the task to go on with.
  public final func tryCatch<T: ProducerTaskProtocol>(
    _ handler: @escaping @Sendable (Failure) throws -> T
  ) -> ProducerTask<Output, any Error> where T.Output == Output {
    recovering(
      "tryCatch", (any Error).self, convert: convertToAny(Failure.self),
      take: followingAny(Output.self, T.Failure.self)
    ) { task, error in
      do {
        task.follow(try handler(error))
      } catch {
        task.fail(thrown: error)
      }
    }
  }

  /// Goes on with another task in the place of a provided error, or fails in a
  /// way whose type is kept.
  ///
  /// Values and internal errors pass by.
  ///
  /// - Parameters:
  ///   - type: The type of failure of the closure and of its task.
  ///   - handler: Makes the task to go on with, or throws an error of that type.
  public final func tryCatch<T: ProducerTaskProtocol, NewFailure: Error>(
    throwing type: NewFailure.Type,
    _ handler: @escaping @Sendable (Failure) throws(NewFailure) -> T
  ) -> ProducerTask<Output, NewFailure> where T.Output == Output, T.Failure == NewFailure {
    recovering("tryCatch", NewFailure.self) { task, error in
      do throws(NewFailure) {
        task.follow(try handler(error))
      } catch {
        task.fail(thrown: error)
      }
    }
  }

  /// Traps on a provided error: for errors that cannot happen.
  ///
  /// Values, and internal errors such as a cancellation, pass by. The new task cannot
  /// fail in a way of its own.
  ///
  /// - Parameters:
  ///   - prefix: What the message begins with.
  ///   - file: The file to name; leave it out.
  ///   - line: The line to name; leave it out.
  /// - Precondition: The task above does not fail with a provided error.
  public final func assertNoFailure(
    _ prefix: String = "", file: StaticString = #file, line: UInt = #line
  ) -> NonFailProducerTask<Output> {
    recovering("assertNoFailure", Never.self) { _, error in
      fatalError("\(prefix)\(error)", file: file, line: line)
    }
  }

  /// Tries again with other tasks as long as they fail with a provided error.
  ///
  /// A task runs once, so each attempt needs a new one. Internal errors, such as
  /// a cancellation or an unmet condition, are not tried again. No slot is held
  /// between the attempts. Cancelling the stage ends all of it.
  ///
  /// ```swift
  /// download(url)
  ///   .retry(3, delay: .milliseconds(200)) { error in download(url) }
  /// ```
  ///
  /// - Parameters:
  ///   - count: How many more attempts there may be; none if it is below one.
  ///   - delay: How long to wait before each; not at all by default.
  ///   - isWorthwhile: Gets the last error, and says whether there is any hope;
  ///     if not, it is the result at once. There always is by default.
  ///   - makeTask: Gets the last error, and makes the task of the next attempt.
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
  /// See ``retry(_:delay:if:_:)``.
  ///
  /// - Parameters:
  ///   - count: How many more attempts there may be; none if it is below one.
  ///   - delays: Gets the number of the attempt, beginning with one, and says
  ///     how long to wait before it.
  ///   - isWorthwhile: Gets the last error, and says whether there is any hope;
  ///     if not, it is the result at once. There always is by default.
  ///   - makeTask: Gets the last error, and makes the task of the attempt.
  public final func retry<T: ProducerTaskProtocol>(
    _ count: Int, delays: @escaping @Sendable (Int) -> Duration,
    if isWorthwhile: @escaping @Sendable (Failure) -> Bool = { _ in true },
    _ makeTask: @escaping @Sendable (Failure) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure {
    // (Not this task itself: what is done to a stage is not done to what is above.)
    guard count > 0 else { return stage("retry", []) { _, _ in } }
    let attempts = Attempts<Output, Failure>(count, delays: delays, if: isWorthwhile) {
      error, delay in
      guard delay > .zero else { return makeTask(error) }
      // Made when its time has come: what it makes may be the end of a chain.
      return EmptyTask().addCondition(Conditions.Delay(delay))
        .setFailureType(to: Failure.self)
        .flatMap { makeTask(error) }
    }
    return stage(
      "retry", [.failure, .following], take: { task, source in attempts.take(task, source) }
    ) {
      task, source in attempts.take(task, source)
    }
  }

  /// Makes a stage whose closure sees provided errors only.
  private func recovering<NewFailure: Error>(
    _ label: StaticString, _ type: NewFailure.Type,
    convert: ((any Error) -> any Error)? = nil,
    take: (@Sendable (AnyFuture, AnyFuture) -> Void)? = nil,
    _ recover:
      @escaping @Sendable (OperatorTask<Output, NewFailure>, Failure) -> Void
  ) -> ProducerTask<Output, NewFailure> {
    stage(
      label, [.failure, .following],
      convert: convert ?? convertInternal(Failure.self, NewFailure.self),
      take: take
    ) { task, source in
      guard case .failure(let error) = source.settledProduced else { return }
      switch error {
      case .provided(let error): recover(task, error)
      case .internal(let error): task.fail(with: .internal(error))
      }
    }
  }
}

/// Settles an operator that may fail with anything like the task that its
/// closure has made.
private func followingAny<Output: Sendable, Failure: Error>(
  _ output: Output.Type, _ failure: Failure.Type
) -> @Sendable (AnyFuture, AnyFuture) -> Void {
  { task, inner in
    let task = unsafeDowncast(task, to: OperatorTask<Output, any Error>.self)
    switch unsafeDowncast(inner, to: ProducerTask<Output, Failure>.self).settledProduced {
    case .success(let value): task.succeed(with: value, from: .upstream)
    case .failure(.provided(let error)): task.fail(with: .provided(error), from: .upstream)
    case .failure(.internal(let error)): task.fail(with: .internal(error), from: .upstream)
    }
  }
}

/// The attempts of a `retry`.
private final class Attempts<Output: Sendable, Failure: Error>: @unchecked Sendable {
  // Sendable: `made` has a lock, the rest never changes.
  private let count: Int
  private let delays: @Sendable (Int) -> Duration
  private let isWorthwhile: @Sendable (Failure) -> Bool
  private let makeTask: @Sendable (Failure, Duration) -> any ProducerTaskProtocol
  private let made = Lock(0)

  /// - Parameter makeTask: Makes a task that begins after a delay, with the same
  ///   types of value and failure.
  init(
    _ count: Int, delays: @escaping @Sendable (Int) -> Duration,
    if isWorthwhile: @escaping @Sendable (Failure) -> Bool,
    makeTask: @escaping @Sendable (Failure, Duration) -> any ProducerTaskProtocol
  ) {
    self.count = count
    self.delays = delays
    self.isWorthwhile = isWorthwhile
    self.makeTask = makeTask
  }

  /// An attempt, or the first task, has settled.
  func take(_ task: AnyFuture, _ source: AnyFuture) {
    let task = unsafeDowncast(task, to: OperatorTask<Output, Failure>.self)
    let source = unsafeDowncast(source, to: ProducerTask<Output, Failure>.self)
    guard case .failure(.provided(let error)) = source.settledProduced, isWorthwhile(error) else {
      task.settle(source.settledProduced, from: .upstream)
      return
    }
    let attempt = made.withLock { made -> Int? in
      guard made < count else { return nil }
      made += 1
      return made
    }
    guard let attempt else {
      task.settle(source.settledProduced, from: .upstream)
      return
    }
    task.follow(makeTask(error, delays(attempt)))
  }
}
