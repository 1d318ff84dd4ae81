import Foundation
import Futures

/// The reason why a task ended without a value although its own work did not fail.
///
/// It is the `.internal` case of ``ProducerTaskProtocolError``. Errors of your own code
/// are the `.provided` case.
public enum ProducerTaskError: Error, Sendable {
  /// At least one condition was not met.
  ///
  /// The errors are in the order in which the conditions were added.
  case conditionsFailure(errors: [any Error])
  /// The task ended without a result.
  case executionFailure
  /// The task was cancelled before it had a result.
  case cancelled
  /// The closure of a `compactMap`, `filter` or similar operator returned no value.
  case nilOutput
  /// The task to consume has no result.
  case producingFailure
  /// The task took longer than it was allowed to take.
  case timedOut(after: Duration)
  /// The task was added to a queue a second time.
  ///
  /// The delegate of that queue gets this error.
  case alreadyEnqueued(task: String)
  /// The task was started by hand, or was produced by a task that is in no queue.
  case notEnqueued(task: String)
  /// The task would have to wait for itself.
  ///
  /// The path has the names of the tasks on the cycle; it begins and ends with this task.
  case cycle(path: [String])
  /// The group had already ended when the task was added to it.
  case groupFinished(group: String)
  /// A condition was added when the task was already in its queue.
  case conditionAddedTooLate(task: String)
  /// The block of the task released `finish` without a call, or a condition of the task
  /// its `completion`.
  ///
  /// No call could have finished the task any more.
  case unfinished(task: String, createdAt: CreationSite)
}

extension ProducerTaskError {
  /// Whether this error means that the task was cancelled.
  public var isCancelled: Bool { if case .cancelled = self { true } else { false } }

  /// The errors of the conditions that were not met, in the order of the conditions;
  /// empty for every other error.
  public var conditionErrors: [any Error] {
    guard case .conditionsFailure(let errors) = self else { return [] }
    return errors
  }
}

extension ProducerTaskError: LocalizedError {
  /// A message that says what happened and what to do.
  public var errorDescription: String? {
    switch self {
    case .conditionsFailure(let errors):
      "\(errors.count == 1 ? "A condition" : "\(errors.count) conditions") of the task "
        + "\(errors.count == 1 ? "was" : "were") not met, so it did not run. Look at the errors, "
        + "in the order of the conditions. First error: \(errors.first?.text ?? "none")"
    case .executionFailure:
      "The task ended without a result. Call finish(with:) on every path of its work, or name "
        + "the member that gives the group its result (produced:)."
    case .cancelled:
      "The task was cancelled. Check isCancelled in long work, and handle this error where a "
        + "cancellation is expected."
    case .nilOutput:
      "The closure returned no value for this input. Return a value, or handle this error."
    case .producingFailure:
      "The task to consume has no result. Do not remove the consumer's dependency on it."
    case .timedOut(let duration):
      "No result after \(duration). Allow more time, or find out why the work does not finish."
    case .alreadyEnqueued(let task):
      "\(task) is already in a queue, or has been in one. Make a new task for each run."
    case .notEnqueued(let task):
      "\(task) is in no queue. Add tasks to a TaskQueue with addTask(_:); do not start them."
    case .cycle(let path):
      "\(path.first ?? "The task") would have to wait for itself: "
        + "\(path.joined(separator: " -> ")). Remove one of these dependencies or categories."
    case .groupFinished(let group):
      "\(group) had ended when the task was added to it. Add members before the group's last "
        + "member ends."
    case .conditionAddedTooLate(let task):
      "A condition was added to \(task) after the task was added to a queue. Add conditions first."
    case .unfinished(let task, let site):
      "The block of \(task), created at \(site.fileID):\(site.line), has released finish without "
        + "calling it, or a condition has released its completion. Call it on every path, or keep it "
        + "until the work is done."
    }
  }
}

/// The error of a task's result: an error of the library or an error of your own work.
///
/// A task can fail although its work does not: it may be cancelled, or a condition may
/// not be met. So its errors have two cases, and only ``provided(_:)`` has the type that
/// the task declares.
public enum ProducerTaskProtocolError<Failure: Error>: Error {
  /// An error of the task itself, usually a ``ProducerTaskError``.
  case `internal`(any Error)
  /// An error of the task's work.
  case provided(Failure)

  /// Whether this error means that the task was cancelled.
  public var isCancelled: Bool { saysCancelled }

  /// The errors of the conditions that were not met, in the order of the conditions;
  /// empty if the task failed for another reason.
  ///
  /// `catch(from:_:)` and the policy of a `retry` get these errors too.
  public var conditionErrors: [any Error] {
    guard case .internal(let error) = self else { return [] }
    return (error as? ProducerTaskError)?.conditionErrors ?? []
  }
}

extension ProducerTaskProtocolError: Equatable where Failure: Equatable {
  /// Compares the cases and their values; compares internal errors by type, domain and
  /// code.
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

/// An error of a task, whatever the task's type of failure is.
protocol TaskErrorWrapper {
  var wrapped: any Error { get }
  /// The same error with another type of failure.
  ///
  /// A provided error of another type becomes an internal error; internal errors stay
  /// internal, also if every error is of the new type.
  func converted<Failure: Error>() -> ProducerTaskProtocolError<Failure>
}

extension ProducerTaskProtocolError: TaskErrorWrapper {
  var wrapped: any Error {
    switch self {
    case .internal(let error): error
    case .provided(let error): error
    }
  }

  func converted<New: Error>() -> ProducerTaskProtocolError<New> {
    switch self {
    case .internal(let error): .internal(error)
    case .provided(let error): (error as? New).map { .provided($0) } ?? .internal(error)
    }
  }

  /// Makes the error of a task from the error of another task, or from any other error.
  init(of error: any Error) {
    self = error as? Self ?? (error as? any TaskErrorWrapper)?.converted() ?? .internal(error)
  }
}

extension ProducerTaskProtocolError: LocalizedError {
  /// The description of the wrapped error.
  public var errorDescription: String? { wrapped.text }
}

extension Result where Success == Void {
  /// The success that carries no value: `finish(with: .success)`.
  public static var success: Self { .success(()) }
}
