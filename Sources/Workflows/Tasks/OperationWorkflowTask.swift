import Foundation
import Futures

/// A task whose work is an operation of any class.
///
/// An operation runs once, so the task makes one for each run and each attempt. The task
/// finishes when the operation has finished, and is cancelled if the operation was
/// cancelled:
///
/// ```swift
/// let thumbnails = OperationWorkflowTask(name: "thumbnails", in: queue) { _ in
///   RenderOperation(pages: pages)
/// } result: { operation in
///   try operation.images()
/// }
/// ```
///
/// The `result` closure decides whether the operation succeeded. Without it, an operation
/// that is a future or a typed task and has failed fails the task.
///
/// An operation that has begun or is in a queue cannot be enqueued. If the closure
/// returns such an operation, the task fails with
/// ``WorkflowError/operationAlreadyEnqueued(of:)`` and does not change the operation. On
/// Apple platforms an operation that waits in another queue is not detected, and
/// Foundation stops the process.
///
/// When the task is cancelled, is reset or times out, the operation is cancelled, and also when
/// the run is ended before the operation, with ``TaskWork/finish(with:)`` for example.
public final class OperationWorkflowTask<Work: Operation, Output: Sendable>: WorkflowTask<Output>,
  @unchecked Sendable
{
  // Sendable: the closures are only replaced when the workflow is released, and a worker
  // keeps the workflow while it runs tasks; `queue` never changes.
  private var make: (@Sendable (TaskWork<Output>) throws -> Work)?
  private var extract: (@Sendable (Work) throws -> Output)?
  private let queue: OperationQueue?

  /// Makes a task with a closure that makes an operation.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - queue: The queue that runs the operations. By default the task's own queue, or
  ///     else the workflow's, or else a new queue for each run.
  ///   - make: Makes the operation of a run, which must be in no queue; runs in the
  ///     task's context.
  ///   - result: Takes the result from the finished operation.
  public init(
    name: String? = nil, in queue: OperationQueue? = nil,
    make: @escaping @Sendable (_ task: TaskWork<Output>) throws -> Work,
    result: @escaping @Sendable (_ operation: Work) throws -> Output
  ) {
    self.make = make
    extract = result
    self.queue = queue
    super.init(name: name, hasHooks: false)
  }

  /// Makes the operation of this run, enqueues it, and waits for its end.
  public override func main(_ run: TaskWork<Output>) {
    guard let make, let extract else { return }
    do {
      let operation = try make(run)
      guard !operation.isUsed else { throw WorkflowError.operationAlreadyEnqueued(of: self) }
      // Not the run itself: it is abandoned if the operation goes without having finished.
      run.onStop { [weak run] in if run?.isToBeStopped != false { operation.cancel() } }
      Future<FinishedOperation>.awaiting(operation, fileID: #fileID, line: #line).onCompletion(
        on: .inline
      ) {
        outcome in
        WorkflowThread.leavingDelegates {
          run.endReturned(with: outcome.flatMap { _ in Result { try extract(operation) } })
        }
      }
      let queue = queue ?? operationQueue ?? workflow?.operationQueue
      (queue ?? OperationQueue(ofLibrary: name)).addUnlessFinished(operation)
    } catch {
      run.end(with: .failure(error))
    }
  }

  override func workflowIsGone() {
    make = nil
    extract = nil
  }
}

extension OperationWorkflowTask where Output == Void {
  /// Makes a task with a closure that makes an operation without a result.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - queue: The queue that runs the operations. By default the task's own queue, or
  ///     else the workflow's, or else a new queue for each run.
  ///   - make: Makes the operation of a run, which must be in no queue; runs in the
  ///     task's context.
  public convenience init(
    name: String? = nil, in queue: OperationQueue? = nil,
    make: @escaping @Sendable (_ task: TaskWork<Output>) throws -> Work
  ) {
    self.init(
      name: name, in: queue, make: make,
      result: { operation in
        if let error = (operation as? AnyFuture)?.anyError { throw error }
      })
  }
}
