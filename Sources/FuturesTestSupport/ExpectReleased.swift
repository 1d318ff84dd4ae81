import Foundation
import Futures

/// Remembers objects without keeping them alive.
///
/// ``expectReleased(within:fileID:line:isolation:_:)`` makes one and checks it.
public final class LeakTracker: Sendable {
  private struct Entry: @unchecked Sendable {
    // Sendable: the object is only compared with `nil`. Weak references are thread-safe.
    weak var object: AnyObject?
    let name: String
  }

  private let entries = Lock<[Entry]>([])

  init() {}

  /// Remembers an object that must be released when the scope ends.
  ///
  /// - Parameters:
  ///   - object: The object; it is not kept alive. Its last reference may go on the thread
  ///     that checks.
  ///   - name: The name for the failure; without it, the type, the file and the line.
  /// - Returns: The same object.
  @discardableResult
  public func track<Object: AnyObject>(
    _ object: Object, _ name: String? = nil, fileID: StaticString = #fileID,
    line: UInt = #line
  ) -> Object {
    let name = name ?? "\(Object.self) tracked at \(fileID):\(line)"
    let entry = Entry(object: object, name: name)
    entries.withLock { $0.append(entry) }
    return object
  }

  /// The names of the objects that are alive.
  var alive: [String] {
    // A reference that becomes the last one must be released outside the lock.
    entries.withLock { $0 }.filter { $0.object != nil }.map(\.name)
  }
}

/// The failure of ``expectReleased(within:fileID:line:isolation:_:)``.
public struct NotReleased: LocalizedError, CustomStringConvertible, Sendable {
  /// The names of the objects that are alive.
  public let names: [String]

  /// The file and the line of the expectation.
  public let place: String

  /// A sentence that names the objects and the place of the expectation.
  public var description: String {
    "\(place): Still alive after the end of the scope: \(names.joined(separator: ", "))"
  }

  /// The same sentence.
  public var errorDescription: String? { description }
}

/// Runs a scope, and fails if an object that the scope has tracked stays alive after it.
///
/// ```swift
/// try await expectReleased { leaks in
///   let promise = leaks.track(Promises.make(promising: Int.self))
///   promise.onSuccess(on: .inline) { value in print(value) }
///   promise.succeed(with: 1)
/// }
/// ```
///
/// Other threads may release an object a little later than the scope ends. So the check
/// repeats until all objects are gone or the time is up.
///
/// - Parameters:
///   - patience: How long the objects may live after the scope. Only a test that fails waits
///     that long. Zero or less checks once.
///   - isolation: Leave it out: the body runs where the caller runs.
///   - body: The scope. It tracks objects and lets them go.
/// - Returns: The value of the scope. It is made before the check, so it must not hold a
///   tracked object.
/// - Throws: ``NotReleased``, the error of the scope, or `CancellationError` if the task is
///   cancelled.
@discardableResult
public func expectReleased<Value>(
  within patience: Duration = .seconds(10), fileID: StaticString = #fileID,
  line: UInt = #line, isolation: isolated (any Actor)? = #isolation,
  _ body: (LeakTracker) async throws -> Value
) async throws -> Value {
  let tracker = LeakTracker()
  let value = try await body(tracker)
  let clock = ContinuousClock()
  let start = clock.now
  while true {
    let alive = tracker.alive
    if alive.isEmpty { return value }
    if start.duration(to: clock.now) >= patience {
      throw NotReleased(names: alive, place: "\(fileID):\(line)")
    }
    // No event announces that an object has been released.
    try await Task.sleep(for: .milliseconds(1))
  }
}
