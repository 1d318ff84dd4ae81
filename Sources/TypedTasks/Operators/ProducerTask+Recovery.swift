import Foundation
import Futures

extension ProducerTask {
  /// Replaces a provided error with another error.
  ///
  /// Values and internal errors pass through unchanged.
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

  /// Replaces a provided error with a value.
  ///
  /// Internal errors, such as a cancellation, pass through unchanged. So the returned
  /// task cannot fail by itself, but can still be cancelled.
  ///
  /// - Parameter output: Makes the value.
  public final func replaceError(
    with output: @escaping @Sendable (Failure) -> Output
  ) -> NonFailProducerTask<Output> {
    recovering("replaceError", Never.self) { task, error in task.succeed(with: output(error)) }
  }

  /// Replaces a provided error with a value.
  ///
  /// - Parameter output: The value.
  public final func replaceError(with output: Output) -> NonFailProducerTask<Output> {
    replaceError { _ in output }
  }

  /// Continues with another task after a provided error.
  ///
  /// The task that the closure returns is put in this task's queue, if it is in none; in
  /// `Promises.defaultOperationQueue` if that queue is no ``TaskQueue``. Values and internal
  /// errors pass through unchanged. Cancelling the operator cancels the closure's task, unless
  /// you have added that task to a queue yourself or it has other consumers.
  ///
  /// - Parameter handler: Makes the task to continue with; it may have another type of
  ///   failure.
  public final func `catch`<T: ProducerTaskProtocol>(
    _ handler: @escaping @Sendable (Failure) -> T
  ) -> ProducerTask<Output, T.Failure> where T.Output == Output {
    recovering("catch", T.Failure.self) { task, error in task.follow(handler(error)) }
  }

  /// Continues with another task after an error of a given type, whatever the error comes
  /// from.
  ///
  /// It may be the provided error, the error of a condition that was not met, or an error
  /// of the library, such as ``ProducerTaskError/timedOut(after:)``:
  ///
  /// ```swift
  /// let lines = CountLines(of: path)
  ///   .addCondition(FileExists(path: path))
  ///   .catch(from: CocoaError.self) { error in Tasks.just(0) }
  /// ```
  ///
  /// With `(any Error).self` it takes every error except cancellations.
  ///
  /// Values, errors of other types and cancellations pass through unchanged. If several
  /// conditions were not met, the first error of the type counts.
  ///
  /// - Parameters:
  ///   - type: The type of the error.
  ///   - handler: Makes the task to continue with.
  @_disfavoredOverload
  public final func `catch`<Caught: Error, T: ProducerTaskProtocol>(
    from type: Caught.Type, _ handler: @escaping @Sendable (Caught) -> T
  ) -> ProducerTask<Output, Failure> where T.Output == Output, T.Failure == Failure {
    catching(type, take: nil) { task, error in task.follow(handler(error)) }
  }

  /// Makes an operator whose closure gets the errors of one type.
  final func catching<Caught: Error>(
    _ type: Caught.Type, take: (@Sendable (AnyFuture, AnyFuture) -> Void)?,
    _ recover: @escaping @Sendable (OperatorTask<Output, Failure>, Caught) -> Void
  ) -> ProducerTask<Output, Failure> {
    stage("catch", [.failure, .following], take: take) { task, source in
      guard case .failure(let error) = source.settledProduced else { return }
      // The wrapped errors first: every error is an `any Error`.
      let caught = error.wrappedErrors.lazy.compactMap { $0 as? Caught }.first
      if let caught = caught ?? error as? Caught {
        recover(task, caught)
      } else {
        task.fail(with: error)
      }
    }
  }

  /// Continues with another task after a provided error, or fails.
  ///
  /// An error that the closure throws, or that its task fails with, is the `.provided`
  /// error. Values and internal errors pass through unchanged.
  ///
  /// - Parameter handler: Makes the task to continue with.
  public final func tryCatch<T: ProducerTaskProtocol>(
    _ handler: @escaping @Sendable (Failure) throws -> T
  ) -> ProducerTask<Output, any Error> where T.Output == Output {
    recovering(
      "tryCatch", (any Error).self,
      take: following(ProducerTask<Output, T.Failure>.self, as: (any Error).self)
    ) { task, error in
      do {
        task.follow(try handler(error))
      } catch {
        task.fail(thrown: error)
      }
    }
  }

  /// Continues with another task after a provided error, or fails with a given type of
  /// failure.
  ///
  /// Values and internal errors pass through unchanged.
  ///
  /// - Parameters:
  ///   - type: The type of failure of the closure and of its task.
  ///   - handler: Makes the task to continue with, or throws an error of that type.
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

  /// Stops the process on a provided error; use it for errors that cannot happen.
  ///
  /// Values, and internal errors such as a cancellation, pass through unchanged. The
  /// returned task cannot fail by itself.
  ///
  /// - Parameter prefix: The beginning of the message.
  /// - Precondition: This task does not fail with a provided error.
  public final func assertNoFailure(
    _ prefix: String = "", file: StaticString = #file, line: UInt = #line
  ) -> NonFailProducerTask<Output> {
    recovering("assertNoFailure", Never.self) { _, error in
      fatalError("\(prefix)\(error)", file: file, line: line)
    }
  }

  /// Makes an operator whose closure gets provided errors only.
  private func recovering<NewFailure: Error>(
    _ label: StaticString, _ type: NewFailure.Type,
    take: (@Sendable (AnyFuture, AnyFuture) -> Void)? = nil,
    _ recover: @escaping @Sendable (OperatorTask<Output, NewFailure>, Failure) -> Void
  ) -> ProducerTask<Output, NewFailure> {
    stage(
      label, [.failure, .following], convert: converting(to: NewFailure.self), take: take
    ) { task, source in
      guard case .failure(let error) = source.settledProduced else { return }
      switch error {
      case .provided(let error): recover(task, error)
      case .internal(let error): task.fail(with: .internal(error))
      }
    }
  }
}
