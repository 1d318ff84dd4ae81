import Futures

// What people write first, and what the compiler says then. None of it can be called; see
// `Future+OtherForms.swift` in `Futures`.

extension ProducerTask {
  /// Not this: a closure that throws belongs to `tryMap`.
  @available(*, unavailable, message: "The closure throws: use 'tryMap'.")
  public func map<NewOutput: Sendable>(
    _ transform: @escaping @Sendable (Output) throws -> NewOutput
  ) -> ProducerTask<NewOutput, Failure> {
    fatalError("This form is unavailable.")
  }

  /// Not this: both tasks have to fail in the same way.
  @available(
    *, unavailable,
    message: "The two tasks fail with errors of different types: change one by 'mapError' first."
  )
  public func flatMap<T: ProducerTaskProtocol>(
    _ transform: @escaping @Sendable (Output) -> T
  ) -> ProducerTask<T.Output, Failure> {
    fatalError("This form is unavailable.")
  }

  /// Not this: a closure that returns a value belongs to ``replaceError(with:)``.
  @available(
    *, unavailable, message: "The closure returns a value, not a task: use 'replaceError(with:)'."
  )
  public func `catch`(
    _ handler: @escaping @Sendable (Failure) -> Output
  ) -> NonFailProducerTask<Output> {
    replaceError(with: handler)
  }
}
