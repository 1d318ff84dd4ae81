import Foundation
import Futures

extension Tasks {
  /// Returns a task that already has a value.
  ///
  /// You need not add it to a queue; adding it is no mistake, and does nothing. Use it
  /// where a task is required and the value is known.
  ///
  /// ```swift
  /// let posts = loadPosts(url).catch { error in Tasks.just(savedPosts) }
  /// ```
  ///
  /// - Parameter value: The value.
  public static func just<Output: Sendable>(
    _ value: Output, fileID: StaticString = #fileID, line: UInt = #line
  ) -> NonFailProducerTask<Output> {
    ReadyTask(.success(value), "just", at: Birthplace(fileID, line))
  }

  /// Returns a task that already has a value, as a task whose type can fail.
  ///
  /// ```swift
  /// let thumbnail = load(url).flatMap { data in
  ///   data.count > 1024 ? shrink(data) : Tasks.just(data)
  /// }
  /// ```
  ///
  /// - Parameter value: The value.
  @_disfavoredOverload
  public static func just<Output: Sendable, Failure: Error>(
    _ value: Output, fileID: StaticString = #fileID, line: UInt = #line
  ) -> ProducerTask<Output, Failure> {
    ReadyTask(.success(value), "just", at: Birthplace(fileID, line))
  }

  /// Returns a task that has already failed with a provided error.
  ///
  /// You need not add it to a queue, as with `just`.
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - type: The type of the value that the task does not have.
  public static func fail<Output: Sendable, Failure: Error>(
    _ error: Failure, producing type: Output.Type = Output.self,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> ProducerTask<Output, Failure> {
    ReadyTask(.failure(.provided(error)), "fail", at: Birthplace(fileID, line))
  }
}

/// A task that is made with its result.
private final class ReadyTask<Output: Sendable, Failure: Error>: ProducerTask<Output, Failure>,
  @unchecked Sendable
{
  // Sendable: adds no state that changes.
  private let label: StaticString

  init(_ produced: Produced, _ label: StaticString, at birthplace: Birthplace) {
    self.label = label
    super.init(
      core: FinalTaskCore<Output, Failure>(), name: nil, qos: .default, priority: .normal,
      at: birthplace)
    settle(with: produced)
  }

  override var defaultName: String { "\(label)" }

  /// Never called: the task has already ended.
  override func execute() {}
}
