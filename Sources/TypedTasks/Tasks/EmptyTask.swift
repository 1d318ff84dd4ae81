import Foundation
import Futures

/// A task that succeeds as soon as it runs.
///
/// Use it as a marker: tasks that depend on it wait until it is added to a queue.
public final class EmptyTask: NonFailTask, @unchecked Sendable {
  // Sendable: adds no state.

  /// Succeeds.
  public override func execute() { finish(with: .success) }
}
