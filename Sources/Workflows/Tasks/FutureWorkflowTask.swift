import Futures

/// A task whose work is a future: its value finishes the task, its error fails
/// it.
///
/// Anything that is a `Future` will do, and so will a typed task of the
/// package. The closure makes one for each run:
///
/// ```swift
/// let page = FutureWorkflowTask<Data>(name: "page") { _ in fetch(url) }
/// ```
///
/// A typed task that is in no queue yet is put in the queue of the workflow's
/// task. A promise that everybody has forgotten fails the task.
///
/// When the task is cancelled, reset or runs out of time, so is the future,
/// and a future that is cancelled cancels the task.
public final class FutureWorkflowTask<Output: Sendable>: WorkflowTask<Output>, @unchecked Sendable {
  // Sendable: `make` is only replaced when the workflow is gone, which a worker
  // keeps while it runs tasks; `keys` never changes.
  private var make: (@Sendable (TaskWork<Output>) throws -> Future<Output>)?
  private let keys: Set<AnyHashable>

  /// Makes a task of a closure that makes a future.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - requiredPrerequisiteKeys: The keys under which it must be given
  ///     prerequisites.
  ///   - make: Makes the future of a run; runs in the task's context. What it
  ///     throws fails the task.
  public init(
    name: String? = nil, requiredPrerequisiteKeys: Set<AnyHashable> = [],
    make: @escaping @Sendable (_ task: TaskWork<Output>) throws -> Future<Output>
  ) {
    self.make = make
    keys = requiredPrerequisiteKeys
    super.init(name: name, hasHooks: false)
  }

  /// Makes a task of one future.
  ///
  /// Every run has the same result; once the future has failed or was
  /// cancelled, so does or is every run.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - future: The future. Cancelling the task does not cancel it.
  public convenience init(name: String? = nil, future: Future<Output>) {
    self.init(name: name) { task in
      // (The shield hides whose work it is.)
      task.task.startIfIdle(future)
      return future.shielded()
    }
  }

  /// The keys given when the task was made.
  public override var requiredPrerequisiteKeys: Set<AnyHashable> { keys }

  /// Makes the future of this run and waits for it.
  public override func main(_ run: TaskWork<Output>) {
    guard let make else { return }
    do {
      let future = try make(run)
      // Not kept here: a promise that nobody else holds is a forgotten one, and
      // what is under way is kept by what it waits for.
      run.onStop { [weak future] in future?.cancel() }
      future.onCompletion(on: .inline) { run.end(with: $0) }
      startIfIdle(future)
    } catch {
      run.end(with: .failure(error))
    }
  }

  override func workflowIsGone() { make = nil }
}

extension AnyWorkflowTask {
  /// Puts a typed task that is in no queue in the queue of this task.
  fileprivate func startIfIdle(_ future: AnyFuture) {
    future.behaviour?.startIfIdle(future, in: operationQueue ?? Promises.defaultOperationQueue)
  }
}
