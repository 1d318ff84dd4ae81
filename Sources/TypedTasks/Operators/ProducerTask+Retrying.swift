import Foundation
import Futures

extension ProducerTask {
  /// Tries again with other tasks as long as they fail.
  ///
  /// A task runs once, so each attempt needs a new task: this task is the first attempt,
  /// and the closure makes the others.
  ///
  /// ```swift
  /// download(url)
  ///   .retry(RetryPolicy(attempts: 4, delay: .exponential(.milliseconds(200)))) { attempt in
  ///     download(url)
  ///   }
  /// ```
  ///
  /// The policy is asked after provided errors, unmet conditions and timeouts. It gets
  /// the provided error itself, the error of the first unmet condition, or
  /// ``ProducerTaskError/timedOut(after:)``. Every other internal error is the result at
  /// once, and a cancellation ends all attempts. The result is the result of the last
  /// attempt; ``retryHistory`` has the errors of the earlier attempts.
  ///
  /// A task that the closure makes is put in this task's queue, if it is in none; in
  /// `Promises.defaultOperationQueue` if that queue is no ``TaskQueue``. No slot is held
  /// between the attempts. Cancelling the operator ends the wait, and the attempt that runs.
  /// The deadline of a policy counts from the moment when the operator is put in a queue.
  ///
  /// The closure runs in a slot of the operator after the first attempt, and after later ones
  /// where the last attempt has failed; after a wait, on a queue of the library.
  ///
  /// - Parameters:
  ///   - policy: How often to try again, after which delays and after which errors.
  ///   - makeTask: Gets the number of the attempt, which starts with two, and makes its
  ///     task.
  @_disfavoredOverload
  public final func retry<T: ProducerTaskProtocol>(
    _ policy: RetryPolicy, _ makeTask: @escaping @Sendable (_ attempt: Int) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure {
    retrying(Attempts(policy) { _, attempt in makeTask(attempt) })
  }

  /// Tries again with other tasks as long as they fail.
  ///
  /// See `retry(_:_:)`.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of attempts: this task, and the tasks that the
  ///     closure makes. A number below one counts as one.
  ///   - delay: The wait before the next attempt; none by default.
  ///   - makeTask: Gets the number of the attempt, which starts with two, and makes its
  ///     task.
  @_disfavoredOverload
  public final func retry<T: ProducerTaskProtocol>(
    attempts: Int, delay: RetryPolicy.Delay = .none,
    _ makeTask: @escaping @Sendable (_ attempt: Int) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure {
    retry(RetryPolicy(attempts: attempts, delay: delay), makeTask)
  }

  /// The errors of the attempts of a `retry`; `nil` for a task that `retry` did not make.
  ///
  /// It can be read on any thread, at any time. Errors are added until the task has
  /// finished. The last one is the error that the task itself fails with, unless conditions
  /// were not met (then it is the error of a condition), the clock has failed, or a timeout has
  /// ended the operator itself.
  public final var retryHistory: RetryHistory? {
    (core as? OperatorCore<Output, Failure>)?.attempts?.history
  }

  /// Makes the operator that stands for this task and its further attempts.
  final func retrying<NewFailure: Error>(
    _ attempts: Attempts<Output, NewFailure>
  ) -> ProducerTask<Output, NewFailure> {
    attempts.stage(below: self, at: nil)
  }
}

extension Tasks {
  /// Tries tasks until one succeeds.
  ///
  /// See `retry(_:_:)`. Here the closure also makes the first attempt, when the returned
  /// task is in a queue.
  ///
  /// ```swift
  /// queue.addTask(Tasks.retry(RetryPolicy(attempts: 3)) { attempt in download(url) })
  /// ```
  ///
  /// - Parameters:
  ///   - policy: How often to try again, after which delays and after which errors.
  ///   - makeTask: Gets the number of the attempt, which starts with one, and makes its
  ///     task.
  public static func retry<T: ProducerTaskProtocol>(
    _ policy: RetryPolicy, fileID: StaticString = #fileID, line: UInt = #line,
    _ makeTask: @escaping @Sendable (_ attempt: Int) -> T
  ) -> ProducerTask<T.Output, T.Failure> {
    Attempts<T.Output, T.Failure>(policy) { _, attempt in makeTask(attempt) }
      .stage(below: nil, at: Birthplace(fileID, line))
  }

  /// Tries tasks until one succeeds.
  ///
  /// See `retry(_:_:)`, which takes a policy.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of attempts. A number below one counts as one.
  ///   - delay: The wait before the next attempt; none by default.
  ///   - makeTask: Gets the number of the attempt, which starts with one, and makes its
  ///     task.
  public static func retry<T: ProducerTaskProtocol>(
    attempts: Int, delay: RetryPolicy.Delay = .none, fileID: StaticString = #fileID,
    line: UInt = #line, _ makeTask: @escaping @Sendable (_ attempt: Int) -> T
  ) -> ProducerTask<T.Output, T.Failure> {
    retry(
      RetryPolicy(attempts: attempts, delay: delay), fileID: fileID, line: line, makeTask)
  }
}

/// The attempts of a `retry` whose tasks have this type of result.
///
///   running ── end ──▶ over: only the history stays
@usableFromInline
final class Attempts<Output: Sendable, Failure: Error>: Sendable {
  typealias Stage = OperatorTask<Output, Failure>
  typealias TaskError = ProducerTaskProtocolError<Failure>
  typealias MakeTask = @Sendable (TaskError?, Int) -> any ProducerTaskProtocol

  private enum State {
    /// During a wait it has the error of the attempt before.
    case running(RetryRun, MakeTask, TaskError?)
    case over(RetryHistory)
  }

  private let state: Lock<State>
  private let needsBeginning: Bool
  private let seesInternalErrors: Bool

  /// - Parameters:
  ///   - seesInternalErrors: Whether the policy is also asked after internal errors.
  ///   - makeTask: Gets the last error and the number of the attempt, and makes a task
  ///     whose type of failure is this one or `Never`.
  init(_ policy: RetryPolicy, seesInternalErrors: Bool = true, _ makeTask: @escaping MakeTask) {
    state = Lock(.running(RetryRun(policy), makeTask, nil))
    needsBeginning = policy.needsBeginning
    self.seesInternalErrors = seesInternalErrors
  }

  /// Makes the operator, downstream of the first attempt if it exists already.
  func stage(below first: AnyFuture?, at birthplace: Birthplace?) -> ProducerTask<Output, Failure> {
    let isFirst = first == nil
    let core = OperatorCore<Output, Failure>(
      isFirst ? [.always, .following] : [.failure, .following], isJoin: isFirst,
      convert: converting(to: Failure.self), take: { task, source in self.take(task, source) },
      attempts: self)
    if needsBeginning { core.onEnqueue { _ in self.change(to: nil)?.run.begin() } }
    return Stage(
      "retry", below: first, core: core,
      work: Work { task, source in self.take(task, isFirst ? nil : source) }, at: birthplace)
  }

  /// Notes the error of the attempt before a wait, and returns the last such error, with the
  /// attempts and the closure that makes their tasks; `nil` when the operator has settled.
  @discardableResult
  private func change(
    to error: TaskError?
  ) -> (run: RetryRun, makeTask: MakeTask, lastError: TaskError?)? {
    state.withLock { state in
      guard case .running(let run, let makeTask, let lastError) = state else { return nil }
      state = .running(run, makeTask, error)
      return (run, makeTask, lastError)
    }
  }

  var history: RetryHistory {
    switch state.withLock({ $0 }) {
    case .running(let run, _, _): run.history
    case .over(let history): history
    }
  }

  /// Releases the closures of the user, because the task has settled.
  func end() {
    WorkLoop.current.discard(state.exchange(for: .over(history)))
  }

  /// An attempt or a wait has settled, or there is no attempt yet.
  private func take(_ task: AnyFuture, _ source: AnyFuture?) {
    guard let (run, makeTask, lastError) = change(to: nil) else { return }
    let stage = unsafeDowncast(task, to: Stage.self)
    guard let produced = source.flatMap(produced) else {
      // The clock of the policy has failed to time the wait.
      if let error = source?.anyError {
        stage.settle(.failure(.internal(error)), from: .upstream)
        return
      }
      return stage.follow(makeTask(lastError, run.attempt))
    }
    guard case .failure(let error) = produced, let wait = wait(in: run, after: error) else {
      stage.settle(produced, from: .upstream)
      return
    }
    if wait == .zero { return stage.follow(makeTask(error, run.attempt)) }
    change(to: error)
    stage.follow(run.pause(for: wait))
  }

  /// The result of an attempt; `nil` for a future that is no attempt.
  private func produced(of source: AnyFuture) -> ProducerTask<Output, Failure>.Produced? {
    if let source = source as? ProducerTask<Output, Failure> { return source.settledProduced }
    return (source as? ProducerTask<Output, Never>)?.settledProduced(as: Failure.self)
  }

  /// The time to wait before the next attempt; `nil` if there is no next attempt.
  private func wait(in run: RetryRun, after error: TaskError) -> Duration? {
    if error.saysCancelled { return nil }
    if let error = visibleError(error) { return run.wait(after: error) }
    run.stop(after: error.wrapped)
    return nil
  }

  /// The error that the policy gets; `nil` if the policy is not asked.
  private func visibleError(_ error: TaskError) -> (any Error)? {
    switch error {
    case .provided(let error): return error
    case .internal(let error):
      guard seesInternalErrors, let error = error as? ProducerTaskError else { return nil }
      switch error {
      case .conditionsFailure(let errors): return errors.first ?? error
      case .timedOut: return error
      default: return nil
      }
    }
  }
}
