import Futures

/// A task whose work is a method of an object that the task does not keep alive.
///
/// ```swift
/// let mapping = MethodWorkflowTask(name: "map", target: controller, method: Controller.map)
/// ```
///
/// The method takes the run (``TaskWork``) or the task. It must end the run, at once or
/// later, like the closure of a ``BlockWorkflowTask``. If the target has been released
/// when the task runs, the task fails with ``WorkflowError/targetReleased(_:)``.
public final class MethodWorkflowTask<Target: AnyObject & Sendable, Output: Sendable>:
  WorkflowTask<Output>, @unchecked Sendable
{
  // Sendable: `target` is written once, and becomes nil atomically. `call` is only replaced
  // when the workflow is released, and a worker keeps the workflow while it runs tasks.
  private weak var target: Target?
  private var call: (@Sendable (Target, MethodWorkflowTask, TaskWork<Output>) -> Void)?
  private let keys: Set<AnyHashable>

  private init(
    _ name: String?, _ target: Target, _ keys: Set<AnyHashable>,
    _ call: @escaping @Sendable (Target, MethodWorkflowTask, TaskWork<Output>) -> Void
  ) {
    self.target = target
    self.call = call
    self.keys = keys
    super.init(name: name, hasHooks: false)
  }

  /// Makes a task with a method that takes the run.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - target: The object whose method is called; not kept alive.
  ///   - method: The method, as `Type.method`.
  ///   - requiredPrerequisiteKeys: The keys under which the task must be given
  ///     prerequisites.
  public convenience init(
    name: String? = nil, target: Target,
    method: @escaping @Sendable (Target) -> (TaskWork<Output>) -> Void,
    requiredPrerequisiteKeys: Set<AnyHashable> = []
  ) {
    self.init(name, target, requiredPrerequisiteKeys) { target, _, run in method(target)(run) }
  }

  /// Makes a task with a method that takes the task.
  ///
  /// A late `finish(with:)` on the task ends the run that the task is in at that moment.
  /// ``WorkflowTask/currentWork`` is the run of the call.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - target: The object whose method is called; not kept alive.
  ///   - method: The method, as `Type.method`.
  ///   - requiredPrerequisiteKeys: The keys under which the task must be given
  ///     prerequisites.
  public convenience init(
    name: String? = nil, target: Target,
    method: @escaping @Sendable (Target) -> (WorkflowTask<Output>) -> Void,
    requiredPrerequisiteKeys: Set<AnyHashable> = []
  ) {
    self.init(name, target, requiredPrerequisiteKeys) { target, task, run in
      run.giveAway()
      method(target)(task)
    }
  }

  /// The keys that were given to the initializer.
  public override var requiredPrerequisiteKeys: Set<AnyHashable> { keys }

  /// Calls the method.
  public override func main(_ run: TaskWork<Output>) {
    guard let target else {
      run.fail(with: WorkflowError.targetReleased(self))
      return
    }
    call?(target, self, run)
  }

  override func workflowIsGone() { call = nil }
}
