import Foundation
import Futures

extension Tasks {
  /// A task that has a value already.
  ///
  /// It need not be added to a queue; adding it is no mistake, and does
  /// nothing. Use it where a task is asked for and the value is there.
  ///
  /// ```swift
  /// let posts = loadPosts(url).catch { error in Tasks.just(savedPosts) }
  /// ```
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - fileID: The file to name in descriptions; leave it out.
  ///   - line: The line to name in descriptions; leave it out.
  public static func just<Output: Sendable>(
    _ value: Output, fileID: StaticString = #fileID, line: UInt = #line
  ) -> NonFailProducerTask<Output> {
    ReadyTask(.success(value), "just", at: Birthplace(fileID, line))
  }

  /// A task that has a value already, where one is asked for that could fail.
  ///
  /// ```swift
  /// let thumbnail = load(url).flatMap { data in
  ///   data.count > 1024 ? shrink(data) : Tasks.just(data)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - fileID: The file to name in descriptions; leave it out.
  ///   - line: The line to name in descriptions; leave it out.
  @_disfavoredOverload
  public static func just<Output: Sendable, Failure: Error>(
    _ value: Output, fileID: StaticString = #fileID, line: UInt = #line
  ) -> ProducerTask<Output, Failure> {
    ReadyTask(.success(value), "just", at: Birthplace(fileID, line))
  }

  /// A task that has failed already, with a provided error.
  ///
  /// Like `just`, it need not be added to a queue.
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - type: The type of the value that it would have had.
  ///   - fileID: The file to name in descriptions; leave it out.
  ///   - line: The line to name in descriptions; leave it out.
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

  /// Never called: it has ended.
  override func execute() {}
}
