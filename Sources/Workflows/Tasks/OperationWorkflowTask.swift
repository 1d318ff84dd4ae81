import Foundation
import Futures

/// A task whose work is an operation of any class.
///
/// An operation runs once, so the task makes one for each run and each attempt. It
/// finishes when the operation has, and is cancelled if the operation was:
///
/// ```swift
/// let thumbnails = OperationWorkflowTask(name: "thumbnails", in: queue) { _ in
///   RenderOperation(pages: pages)
/// } result: { operation in
///   try operation.images()
/// }
/// ```
///
/// Whether it has done well is for `result` to say; without `result`, an
/// operation that is a future, or a typed task, and has failed fails the task.
///
/// An operation that has begun, or that a queue holds, cannot be enqueued: if the
/// closure returns one, the task fails with
/// ``WorkflowError/operationAlreadyEnqueued(of:)`` and leaves the operation alone.
/// (On Apple platforms one that waits in another queue is not recognised, and
/// Foundation stops the process.)
///
/// When the task is cancelled, reset or runs out of time, the operation is
/// cancelled.
public final class OperationWorkflowTask<Work: Operation, Output: Sendable>: WorkflowTask<Output>,
  @unchecked Sendable
{
  // Sendable: the closures are only replaced when the workflow is gone, which a
  // worker keeps while it runs tasks; `queue` never changes.
  private var make: (@Sendable (TaskWork<Output>) throws -> Work)?
  private var extract: (@Sendable (Work) throws -> Output)?
  private let queue: OperationQueue?

  /// Makes a task of a closure that makes an operation.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - queue: What runs the operations; if left out, the task's own queue or
  ///     the workflow's, or, where there is none, a queue made for the run.
  ///   - make: Makes the operation of a run, in no queue; runs in the task's
  ///     context.
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
      run.onStop { operation.cancel() }
      Future<FinishedOperation>.awaiting(operation, fileID: #fileID, line: #line).onCompletion(
        on: .inline
      ) {
        outcome in
        run.end(with: outcome.flatMap { _ in Result { try extract(operation) } })
      }
      (queue ?? operationQueue ?? OperationQueue()).addReliably(operation)
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
  /// Makes a task of a closure that makes an operation whose result is that it
  /// has finished.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - queue: What runs the operations; if left out, the task's own queue or
  ///     the workflow's, or, where there is none, a queue made for the run.
  ///   - make: Makes the operation of a run, in no queue; runs in the task's
  ///     context.
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
