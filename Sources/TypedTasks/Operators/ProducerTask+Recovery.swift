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

  /// Goes on with another task in the place of an error of a type, wherever the task has it
  /// from.
  ///
  /// That may be the provided error, the error of a condition that was not met, or an error
  /// of the library, ``ProducerTaskError/timedOut(after:)`` for one:
  ///
  /// ```swift
  /// let lines = CountLines(of: path)
  ///   .addCondition(FileExists(path: path))
  ///   .catch(from: CocoaError.self) { error in Tasks.just(0) }
  /// ```
  ///
  /// With `(any Error).self` it takes everything but cancellations.
  ///
  /// Values, errors of other types and cancellations pass by. Of several conditions that were
  /// not met, the first with an error of the type counts.
  ///
  /// - Parameters:
  ///   - type: The type of the error.
  ///   - handler: Makes the task to go on with.
  @_disfavoredOverload
  public final func `catch`<Caught: Error, T: ProducerTaskProtocol>(
    from type: Caught.Type, _ handler: @escaping @Sendable (Caught) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure {
    catching(type, take: nil) { task, error in task.follow(handler(error)) }
  }

  /// Makes a stage whose closure sees the errors of one type.
  final func catching<Caught: Error>(
    _ type: Caught.Type, take: (@Sendable (AnyFuture, AnyFuture) -> Void)?,
    _ recover: @escaping @Sendable (OperatorTask<Output, Failure>, Caught) -> Void
  ) -> ProducerTask<Output, Failure> {
    stage("catch", [.failure, .following], take: take) { task, source in
      guard case .failure(let error) = source.settledProduced else { return }
      // (Inside first: every error is an `any Error`.)
      let caught = error.wrappedErrors.lazy.compactMap { $0 as? Caught }.first
      if let caught = caught ?? error as? Caught {
        recover(task, caught)
      } else {
        task.fail(with: error)
      }
    }
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
      take: following(ProducerTask<Output, T.Failure>.self, as: (any Error).self)
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
  /// - Precondition: The task above does not fail with a provided error.
  public final func assertNoFailure(
    _ prefix: String = "", file: StaticString = #file, line: UInt = #line
  ) -> NonFailProducerTask<Output> {
    recovering("assertNoFailure", Never.self) { _, error in
      fatalError("\(prefix)\(error)", file: file, line: line)
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
