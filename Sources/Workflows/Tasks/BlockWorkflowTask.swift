import Futures

/// A task whose work is a closure that ends the run explicitly.
///
/// Use it for work with callbacks: the closure receives the run (``TaskWork``) and starts
/// the work. It or a callback then calls `finish(with:)` or `fail(with:)` on the run,
/// from any thread. For work that returns or throws, use ``AsyncWorkflowTask``.
public final class BlockWorkflowTask<Output: Sendable>: WorkflowTask<Output>, @unchecked Sendable {
  // Sendable: `block` is only replaced when the workflow is released, and a worker keeps
  // the workflow while it runs tasks; `keys` never changes.
  private var block: (@Sendable (TaskWork<Output>) -> Void)?
  private let keys: Set<AnyHashable>

  /// Makes a task with a closure.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - requiredPrerequisiteKeys: The keys under which the task must be given
  ///     prerequisites.
  ///   - block: The work; runs in the task's context. If it releases the run before the
  ///     run has ended, the run is abandoned (see ``TaskWork``).
  public init(
    name: String? = nil, requiredPrerequisiteKeys: Set<AnyHashable> = [],
    block: @escaping @Sendable (_ task: TaskWork<Output>) -> Void
  ) {
    self.block = block
    keys = requiredPrerequisiteKeys
    super.init(name: name, hasHooks: false)
  }

  /// The keys that were given to the initializer.
  public override var requiredPrerequisiteKeys: Set<AnyHashable> { keys }

  /// Calls the closure.
  public override func main(_ run: TaskWork<Output>) { block?(run) }

  override func workflowIsGone() { block = nil }
}
