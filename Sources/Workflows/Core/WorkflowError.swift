import Foundation

/// An error in the use of a workflow or a task.
///
/// Errors of your own work travel unchanged; these are the library's. Each carries the
/// tasks that it is about.
public enum WorkflowError: Error, Sendable {
  /// The task is already in this workflow.
  case taskAlreadyAdded(AnyWorkflowTask)
  /// The task is in another workflow, and stays there.
  case taskInAnotherWorkflow(AnyWorkflowTask)
  /// A prerequisite is not in the workflow to which the task should be added.
  case foreignPrerequisite(AnyWorkflowTask, of: AnyWorkflowTask)
  /// The task requires prerequisites under keys that are missing.
  case missingPrerequisiteKeys([String], of: AnyWorkflowTask)
  /// The same key was given to two prerequisites.
  case duplicatePrerequisiteKey(String, of: AnyWorkflowTask)
  /// A prerequisite's result does not have the type that its key requires.
  case wrongPrerequisiteType(
    key: String, prerequisite: AnyWorkflowTask, expected: String, of: AnyWorkflowTask)
  /// The tasks would wait for one another; the first is also the last.
  case cycle([AnyWorkflowTask])
  /// The task has begun, so a new prerequisite comes too late.
  case taskAlreadyBegun(AnyWorkflowTask)
  /// The workflow would be its own subworkflow, through this task.
  case recursiveSubworkflow(AnyWorkflowTask)
  /// The workflow of the second task already belongs to the first, which is in a
  /// workflow.
  case subworkflowOfAnotherTask(AnyWorkflowTask, AnyWorkflowTask)
  /// A result was requested of a task that is no prerequisite.
  case notAPrerequisite(AnyWorkflowTask, of: AnyWorkflowTask)
  /// A result was requested with a key that no prerequisite has.
  case unknownPrerequisiteKey(String, of: AnyWorkflowTask)
  /// A result was requested of a task that has not finished.
  case noResult(of: AnyWorkflowTask)
  /// The task has no work of its own, and its type of result has no empty value.
  case noWork(AnyWorkflowTask)
  /// The target of a method task has been released.
  case targetReleased(AnyWorkflowTask)
  /// The operation of an operation task is already in a queue or has begun; an operation
  /// runs once.
  case operationAlreadyEnqueued(of: AnyWorkflowTask)
  /// An external condition was due before it was fulfilled.
  case externalConditionNotFulfilled(AnyWorkflowTask)
  /// A run of the task lasted longer than the task's timeout.
  case timedOut(AnyWorkflowTask, after: Duration)
  /// The workflow's run lasted longer than its timeout, while the task executed.
  case runTimedOut(AnyWorkflowTask, after: Duration)
  /// The task is not in the workflow that should run it.
  case taskOutsideWorkflow(AnyWorkflowTask)
}

extension WorkflowError: CustomStringConvertible {
  /// The same sentence as `errorDescription`.
  ///
  /// The default description would contain the descriptions of the tasks.
  public var description: String { errorDescription ?? "A workflow error occurred." }
}

extension WorkflowError: LocalizedError {
  /// What happened and what to do about it, in one or two sentences.
  ///
  /// The length is bounded: long names are cut, and of many tasks only the first and the
  /// last are named.
  public var errorDescription: String? {
    switch self {
    case .taskAlreadyAdded(let task):
      "\(quoted(task)) is already in this workflow. Add each task once."
    case .taskInAnotherWorkflow(let task):
      "\(quoted(task)) is in another workflow. Make a new task for this one."
    case .foreignPrerequisite(let prerequisite, let task):
      "\(quoted(prerequisite)), a prerequisite of \(quoted(task)), is not in this workflow. Add it "
        + "first."
    case .missingPrerequisiteKeys(let keys, let task):
      "\(quoted(task)) requires prerequisites under the keys "
        + TaskNames.list(keys.count, limit: 20) { TaskNames.quoted(keys[$0]) }
        + ". Name them in keyedPrerequisites."
    case .duplicatePrerequisiteKey(let key, let task):
      "The key \(TaskNames.quoted(key)) was given to two prerequisites of \(quoted(task)). Use a "
        + "different key for each."
    case .wrongPrerequisiteType(let key, let prerequisite, let expected, let task):
      "The key \(TaskNames.quoted(key)) of \(quoted(task)) asks for a result of type \(expected), but "
        + "\(quoted(prerequisite)) has one of type \(prerequisite.outputType). Give it another "
        + "task, or correct the key's type."
    case .cycle(let path):
      "These tasks would wait for one another forever: "
        + "\(TaskNames.path(path)). Remove one of the prerequisites."
    case .taskAlreadyBegun(let task):
      "\(quoted(task)) has begun, so it cannot wait for another task. Reset it, or add the "
        + "prerequisite before it starts."
    case .recursiveSubworkflow(let task):
      "\(quoted(task)) would run the workflow that it is in. Give it a workflow of its own."
    case .subworkflowOfAnotherTask(let other, let task):
      "The workflow of \(quoted(task)) already belongs to \(quoted(other)). Make a separate "
        + "workflow for each task."
    case .notAPrerequisite(let task, let dependent):
      "\(quoted(task)) is not a prerequisite of \(quoted(dependent)), so its result may not be "
        + "available yet. Pass it as a prerequisite when you add \(quoted(dependent))."
    case .unknownPrerequisiteKey(let key, let task):
      "\(quoted(task)) has no prerequisite under the key \(TaskNames.quoted(key)). Name it in "
        + "keyedPrerequisites."
    case .noResult(let task):
      "\(quoted(task)) has no result, because it has not finished. A task that runs when all its "
        + "prerequisites succeed can ask for their results; with another rule a prerequisite may "
        + "have failed, or may wait in vain."
    case .noWork(let task):
      "\(quoted(task)) has no work and no result of type \(task.outputType) to finish with. "
        + "Override main(_:), or use a block task."
    case .targetReleased(let task):
      "The target of \(quoted(task)) has been released. Keep a reference to it while the workflow runs."
    case .operationAlreadyEnqueued(let task):
      "The operation of \(quoted(task)) is in a queue, or has run, already. Make a new operation in "
        + "each call of the closure."
    case .externalConditionNotFulfilled(let task):
      "\(quoted(task)) has not been fulfilled. Call fulfill(with:), or make it wait for its "
        + "fulfilment."
    case .timedOut(let task, let duration):
      "\(quoted(task)) took longer than \(duration). Allow it more time, or find out why it does "
        + "not finish."
    case .runTimedOut(let task, let duration):
      "The workflow ran longer than \(duration), and \(quoted(task)) had not ended. Allow the run "
        + "more time, or find out what takes so long."
    case .taskOutsideWorkflow(let task):
      "\(quoted(task)) is not in this workflow. Add it first, or ask the workflow that it is in."
    }
  }

  private func quoted(_ task: AnyWorkflowTask) -> String { TaskNames.quoted(task.name) }
}
