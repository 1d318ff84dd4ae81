/// The result of a future: a value or an error.
///
/// It is Swift's own `Result`, so all code that works with a `Result` works with it.
public typealias FutureResult<Success> = Result<Success, any Error>

extension Result where Failure == any Error {
  /// The value, or `nil` for a failure.
  public var successValue: Success? {
    guard case .success(let value) = self else { return nil }
    return value
  }

  /// The error, or `nil` for a success.
  public var failureValue: (any Error)? {
    guard case .failure(let error) = self else { return nil }
    return error
  }
}

extension Result {
  /// Whether this is a success.
  public var isSuccess: Bool { if case .success = self { true } else { false } }

  /// Whether this is a failure.
  public var isFailure: Bool { !isSuccess }
}

extension Result where Success == Void, Failure == any Error {
  /// The success that carries no value: `promise.fulfill(with: .success)`.
  public static var success: Self { .success(()) }
}
