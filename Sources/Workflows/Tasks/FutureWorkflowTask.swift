import Futures

/// A task whose work is a future: the future's value finishes the task, its error fails
/// it.
///
/// The closure makes one future for each run. Any `Future` can be used, including a typed
/// task of the package:
///
/// ```swift
/// let page = FutureWorkflowTask<Data>(name: "page") { _ in fetch(url) }
/// ```
///
/// A typed task that is in no queue yet is added to the queue of the workflow's task; if that
/// has none, to `Promises.defaultOperationQueue`. A promise that is released without being
/// fulfilled fails the task.
///
/// When the task is cancelled, is reset or times out, the future is cancelled, and also when
/// the run is ended before the future settles, with ``TaskWork/finish(with:)`` for example. A
/// cancelled future cancels the task.
public final class FutureWorkflowTask<Output: Sendable>: WorkflowTask<Output>, @unchecked Sendable {
  // Sendable: `make` is only replaced when the workflow is released, and a worker keeps
  // the workflow while it runs tasks; `keys` never changes.
  private var make: (@Sendable (TaskWork<Output>) throws -> Future<Output>)?
  private let keys: Set<AnyHashable>

  /// Makes a task with a closure that makes a future.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - requiredPrerequisiteKeys: The keys under which the task must be given
  ///     prerequisites.
  ///   - make: Makes the future of a run; runs in the task's context. An error that it
  ///     throws fails the task, or cancels it if the error means cancellation.
  public init(
    name: String? = nil, requiredPrerequisiteKeys: Set<AnyHashable> = [],
    make: @escaping @Sendable (_ task: TaskWork<Output>) throws -> Future<Output>
  ) {
    self.make = make
    keys = requiredPrerequisiteKeys
    super.init(name: name, hasHooks: false)
  }

  /// Makes a task with one future.
  ///
  /// Every run has the same result. Once the future has failed or was cancelled, every
  /// run fails or is cancelled, too.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - future: The future. Cancelling the task does not cancel it.
  public convenience init(name: String? = nil, future: Future<Output>) {
    self.init(name: name) { task in
      // The shielded future does not show that it is a typed task.
      task.task.startIfIdle(future)
      return future.shielded()
    }
  }

  /// The keys that were given to the initializer.
  public override var requiredPrerequisiteKeys: Set<AnyHashable> { keys }

  /// Makes the future of this run and waits for it.
  public override func main(_ run: TaskWork<Output>) {
    guard let make else { return }
    do {
      let future = try make(run)
      // The task does not keep the future: the release of a promise without other
      // references breaks it. A future in progress is kept by its upstream, and one that stands
      // for another future only if it is watched.
      _ = future.watch { _ in }
      run.onStop { [weak future] in future?.cancel() }
      future.onCompletion(on: .inline) { result in
        WorkflowThread.leavingDelegates { run.end(with: result) }
      }
      startIfIdle(future)
    } catch {
      run.end(with: .failure(error))
    }
  }

  override func workflowIsGone() { make = nil }
}

extension AnyWorkflowTask {
  /// Adds a typed task that is in no queue to the queue of this task.
  fileprivate func startIfIdle(_ future: AnyFuture) {
    _ = future.behaviour?.join(
      future, operationQueue ?? Promises.defaultOperationQueue, implicitly: true)
  }
}
