/// The error of a failed task whose workflow has been released.
///
/// A workflow keeps the errors of its tasks. After its release, each task that is still
/// referenced keeps its own error. The library's errors name the failed task: stored
/// unchanged, such an error and its task would keep each other alive for ever.
final class KeptError: Sendable {
  private enum Form {
    case whole(any Error)
    /// An error of the library, without its reference to the task itself.
    case about(@Sendable (AnyWorkflowTask) -> WorkflowError)
  }

  private let form: Form

  init(_ error: any Error, of task: AnyWorkflowTask) {
    let about = (error as? WorkflowError)?.leavingOut(task)
    form = about.map { .about($0) } ?? .whole(error)
  }

  /// Returns the original error.
  func error(of task: AnyWorkflowTask) -> any Error {
    switch form {
    case .whole(let error): error
    case .about(let error): error(task)
    }
  }
}

extension WorkflowError {
  /// Returns a closure that makes the error again from the task that it is about, or
  /// `nil` if the error is not about that task.
  fileprivate func leavingOut(
    _ own: AnyWorkflowTask
  ) -> (@Sendable (AnyWorkflowTask) -> WorkflowError)? {
    // Another task that the error names, or `nil` if that task is `own`, too.
    func other(_ task: AnyWorkflowTask) -> AnyWorkflowTask? { task === own ? nil : task }
    switch self {
    case .taskAlreadyAdded(own): return { .taskAlreadyAdded($0) }
    case .taskInAnotherWorkflow(own): return { .taskInAnotherWorkflow($0) }
    case .foreignPrerequisite(let task, own):
      return { [task = other(task)] in .foreignPrerequisite(task ?? $0, of: $0) }
    case .missingPrerequisiteKeys(let keys, own):
      return { .missingPrerequisiteKeys(keys, of: $0) }
    case .duplicatePrerequisiteKey(let key, own):
      return { .duplicatePrerequisiteKey(key, of: $0) }
    case .wrongPrerequisiteType(let key, let task, let expected, own):
      return { [task = other(task)] in
        .wrongPrerequisiteType(key: key, prerequisite: task ?? $0, expected: expected, of: $0)
      }
    case .cycle(let path):
      return { [path = path.map(other)] own in .cycle(path.map { $0 ?? own }) }
    case .taskAlreadyBegun(own): return { .taskAlreadyBegun($0) }
    case .recursiveSubworkflow(own): return { .recursiveSubworkflow($0) }
    case .subworkflowOfAnotherTask(let task, own):
      return { [task = other(task)] in .subworkflowOfAnotherTask(task ?? $0, $0) }
    case .notAPrerequisite(let task, own):
      return { [task = other(task)] in .notAPrerequisite(task ?? $0, of: $0) }
    case .unknownPrerequisiteKey(let key, own): return { .unknownPrerequisiteKey(key, of: $0) }
    case .noResult(own): return { .noResult(of: $0) }
    case .noWork(own): return { .noWork($0) }
    case .targetReleased(own): return { .targetReleased($0) }
    case .operationAlreadyEnqueued(own): return { .operationAlreadyEnqueued(of: $0) }
    case .externalConditionNotFulfilled(own): return { .externalConditionNotFulfilled($0) }
    case .timedOut(own, let duration): return { .timedOut($0, after: duration) }
    case .runTimedOut(own, let duration): return { .runTimedOut($0, after: duration) }
    case .taskOutsideWorkflow(own): return { .taskOutsideWorkflow($0) }
    default: return nil
    }
  }
}

/// Compares by identity.
///
/// A subclass's `==` must not run here: a lock is held.
private func ~= (pattern: AnyWorkflowTask, task: AnyWorkflowTask) -> Bool { pattern === task }
