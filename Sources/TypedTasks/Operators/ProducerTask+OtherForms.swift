import Futures

// Forms that newcomers often write first. All of them are unavailable; see
// `Future+OtherForms.swift` in `Futures`.

extension ProducerTask {
  /// Unavailable: the closure throws; use `tryMap`.
  @available(*, unavailable, message: "The closure throws: use 'tryMap'.")
  public func map<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) throws -> NewOutput
  ) -> ProducerTask<NewOutput, Failure> {
    fatalError("This form is unavailable.")
  }

  /// Unavailable: both tasks need the same type of error.
  @available(
    *, unavailable,
    message: "The two tasks fail with errors of different types: change one by 'mapError' first."
  )
  public func flatMap<T: ProducerTaskProtocol>(
    _ transform: @escaping @Sendable (Output) -> T
  ) -> ProducerTask<T.Output, Failure> {
    fatalError("This form is unavailable.")
  }

  /// Unavailable: the closure returns a value; use ``replaceError(with:)``.
  @available(
    *, unavailable, message: "The closure returns a value, not a task: use 'replaceError(with:)'."
  )
  public func `catch`(
    _ handler: @escaping @Sendable (Failure) -> Output
  ) -> NonFailProducerTask<Output> {
    replaceError(with: handler)
  }
}
