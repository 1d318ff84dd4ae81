import Foundation
import Futures

/// Why a task ended without a value although its own work did not fail.
///
/// It reaches you as the `.internal` case of ``ProducerTaskProtocolError``;
/// what your own code fails with is the `.provided` case.
public enum ProducerTaskError: Error, Sendable {
  /// At least one condition was not met: all of their errors, in the order in
  /// which the conditions were added.
  case conditionsFailure(errors: [any Error])
  /// The task ended, and nobody had given it a result.
  case executionFailure
  /// The task was cancelled before it had a result.
  case cancelled
  /// The closure of a `compactMap`, `filter` or the like had no value to give.
  case nilOutput
  /// The task whose result was to be consumed has none.
  case producingFailure
  /// The task took longer than it was allowed to.
  case timedOut(after: Duration)
  /// The task was added to a queue a second time: the delegate of that queue gets this.
  case alreadyEnqueued(task: String)
  /// The task was started by hand, or was to be produced by one that is in no
  /// queue.
  case notEnqueued(task: String)
  /// The task would have had to wait for itself: the names on the way round,
  /// beginning and ending with its own.
  case cycle(path: [String])
  /// The group that the task was added to had ended.
  case groupFinished(group: String)
  /// A condition was added when the task was in its queue already.
  case conditionAddedTooLate(task: String)
  /// The block of the task released its `finish`, or a condition of the task its
  /// `completion`, and had not called it: nothing could have finished the task any more.
  case unfinished(task: String, createdAt: CreationSite)
}

extension ProducerTaskError {
  /// Whether this says that the task was cancelled.
  public var isCancelled: Bool {
    guard case .cancelled = self else { return false }
    return true
  }

  /// The errors of the conditions that were not met, in the order of the conditions; empty if
  /// this says something else.
  public var conditionErrors: [any Error] {
    guard case .conditionsFailure(let errors) = self else { return [] }
    return errors
  }
}

extension ProducerTaskError: LocalizedError {
  /// What happened, and what to do about it, in a sentence or two.
  public var errorDescription: String? {
    switch self {
    case .conditionsFailure(let errors):
      "\(errors.count == 1 ? "A condition" : "\(errors.count) conditions") of the task "
        + "\(errors.count == 1 ? "was" : "were") not met, so it did not run. Look at the errors, "
        + "in the order of the conditions. First error: "
        + "\(errors.first.map { ($0 as? any LocalizedError)?.errorDescription ?? "\($0)" } ?? "none")"
    case .executionFailure:
      "The task ended without a result. Call finish(with:) on every path of its work, or give "
        + "the group the task whose result is its own."
    case .cancelled:
      "The task was cancelled. Check isCancelled in long work, and handle this error where a "
        + "cancellation is expected."
    case .nilOutput:
      "The closure had no value to give for this output. Return a value, or handle this error."
    case .producingFailure:
      "The task whose result was to be consumed has no result. Do not remove a consumer's "
        + "dependency on it."
    case .timedOut(let duration):
      "No result after \(duration). Allow more time, or find out why the work does not finish."
    case .alreadyEnqueued(let task):
      "\(task) is, or was, in a queue already. Make a new task for each run."
    case .notEnqueued(let task):
      "\(task) is in no queue. Add tasks to a TaskQueue with addTask(_:); do not start them."
    case .cycle(let path):
      "\(path.first ?? "The task") would have to wait for itself: "
        + "\(path.joined(separator: " -> ")). Remove one of these dependencies or categories."
    case .groupFinished(let group):
      "\(group) had ended when the task was added to it. Add tasks before the group's last one "
        + "ends."
    case .conditionAddedTooLate(let task):
      "A condition was added to \(task) when it was in its queue. Add conditions before."
    case .unfinished(let task, let site):
      "The block of \(task), created at \(site.fileID):\(site.line), has released finish and not "
        + "called it (or a condition its completion). Call it on every path, or keep it until "
        + "the work is done."
    }
  }
}

/// The error side of a task's result: what the library says, and what you say.
///
/// A task does not only fail as its own work fails: it may be cancelled, or a
/// condition may not be met. So its errors have two cases, and only the second
/// has the type that the task declares.
public enum ProducerTaskProtocolError<Failure: Error>: Error {
  /// What happened to the task itself: mostly a ``ProducerTaskError``.
  case `internal`(any Error)
  /// What its work failed with.
  case provided(Failure)

  /// Whether this says that the task was cancelled.
  public var isCancelled: Bool { saysCancelled }

  /// The errors of the conditions that were not met, in the order of the conditions; empty if
  /// the task failed for another reason.
  ///
  /// `catch(from:_:)` and the policy of a `retry` get them, too.
  public var conditionErrors: [any Error] {
    guard case .internal(let error) = self else { return [] }
    return (error as? ProducerTaskError)?.conditionErrors ?? []
  }

  /// The same error for a task whose work cannot fail in that way.
  ///
  /// `nil` if the work did.
  func internalOnly<Other: Error>(_ type: Other.Type) -> ProducerTaskProtocolError<Other>? {
    guard case .internal(let error) = self else { return nil }
    return .internal(error)
  }
}

extension ProducerTaskProtocolError: Equatable where Failure: Equatable {
  /// Compares the cases and what they carry; internal errors by type, domain
  /// and code.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    switch (lhs, rhs) {
    case (.provided(let a), .provided(let b)):
      return a == b
    case (.internal(let a), .internal(let b)):
      let (x, y) = (a as NSError, b as NSError)
      return type(of: a) == type(of: b) && x.domain == y.domain && x.code == y.code
    default:
      return false
    }
  }
}

extension ProducerTaskProtocolError: CancellationRepresenting {
  package var saysCancelled: Bool {
    guard case .internal(let error) = self else { return false }
    return (error as? ProducerTaskError).map(\.isCancelled) ?? error.isCancellation
  }

  package var wrappedErrors: [any Error] { [wrapped] + conditionErrors }
}

extension ProducerTaskProtocolError: LocalizedError {
  /// What the error inside says.
  public var errorDescription: String? {
    let error = wrapped
    return (error as? any LocalizedError)?.errorDescription ?? String(describing: error)
  }
}

extension Result where Success == Void {
  /// The success that carries no value: `finish(with: .success)`.
  public static var success: Self { .success(()) }
}
