import Foundation
import Futures

/// The failure of a test: a future is pending that should have settled.
public struct NotSettled: LocalizedError, CustomStringConvertible, Sendable {
  /// The description of the future.
  public let future: String

  /// How long the test waited; `nil` if it did not wait.
  public let patience: Duration?

  /// The file and the line of the expectation.
  public let place: String

  /// A sentence that names the future and the place of the expectation.
  public var description: String {
    let time = patience.map { "has not settled within \($0)" } ?? "has not settled"
    return "\(place): The future \(time): \(future)"
  }

  /// The same sentence.
  public var errorDescription: String? { description }
}

/// Returns the result of a future that must have settled.
///
/// Asking neither waits nor starts a lazy future. A failure and a cancellation are results
/// too: look at the result.
///
/// ```swift
/// let result = try expectSettled(future)
/// ```
///
/// - Parameter future: The future.
/// - Throws: ``NotSettled`` if the future is pending.
@discardableResult
public func expectSettled<Success>(
  _ future: Future<Success>, fileID: StaticString = #fileID, line: UInt = #line
) throws -> FutureResult<Success> {
  if let result = future.result { return result }
  throw NotSettled(future: future.description, patience: nil, place: "\(fileID):\(line)")
}

/// Waits for the result of a future that must settle within real time.
///
/// The call returns as soon as the future settles, so a generous limit costs nothing but in
/// a test that fails. Waiting neither cancels the future nor starts a lazy one.
///
/// - Parameters:
///   - future: The future.
///   - patience: How long to wait. Zero or less does not wait.
/// - Throws: ``NotSettled`` if the future is pending when the time is up, and
///   `CancellationError` if the task is cancelled before.
@discardableResult
public func expectSettled<Success>(
  _ future: Future<Success>, within patience: Duration, fileID: StaticString = #fileID,
  line: UInt = #line
) async throws -> FutureResult<Success> {
  if patience > .zero {
    let isOver = Promises.make(promising: Void.self)
    let watcher = Watcher(.settled) { _ in isOver.succeed() }
    if future.watch(with: watcher) {
      let limit = Promises.delay(for: patience).onSuccess(on: .inline) { isOver.succeed() }
      _ = await isOver.completion
      limit.cancel()
      future.detach(.callback(watcher), cancelling: false)
    }
  }
  if let result = future.result { return result }
  try Task.checkCancellation()
  throw NotSettled(future: future.description, patience: patience, place: "\(fileID):\(line)")
}
