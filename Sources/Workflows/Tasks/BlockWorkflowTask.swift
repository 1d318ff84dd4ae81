import Futures

/// A task whose work is a closure that ends the run by hand.
///
/// For work with callbacks: the closure gets the run (``TaskWork``), starts
/// something, and `finish(with:)` or `fail(with:)` is called on the run then or
/// later, from any thread. For work that returns or throws there is
/// ``AsyncWorkflowTask``.
public final class BlockWorkflowTask<Output: Sendable>: WorkflowTask<Output>, @unchecked Sendable {
  // Sendable: `block` is only replaced when the workflow is gone, which a worker
  // keeps while it runs tasks; `keys` never changes.
  private var block: (@Sendable (TaskWork<Output>) -> Void)?
  private let keys: Set<AnyHashable>

  /// Makes a task of a closure.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - requiredPrerequisiteKeys: The keys under which it must be given
  ///     prerequisites.
  ///   - block: The work; runs in the task's context. A run that it lets go of
  ///     unfinished is given up (see ``TaskWork``).
  public init(
    name: String? = nil, requiredPrerequisiteKeys: Set<AnyHashable> = [],
    block: @escaping @Sendable (_ task: TaskWork<Output>) -> Void
  ) {
    self.block = block
    keys = requiredPrerequisiteKeys
    super.init(name: name, hasHooks: false)
  }

  /// The keys given when the task was made.
  public override var requiredPrerequisiteKeys: Set<AnyHashable> { keys }

  /// Calls the closure.
  public override func main(_ run: TaskWork<Output>) { block?(run) }

  override func workflowIsGone() { block = nil }
}
