import Foundation

extension OperationQueue {
  /// Refuses new work, waits for the work in the queue, and cancels what is left.
  ///
  /// Use it when a server or a tool ends. The future succeeds as soon as the queue is empty,
  /// at the latest when the time is up. Then everything in the queue is cancelled, and the
  /// future lists the operations that had not finished. No thread is blocked.
  ///
  /// ```swift
  /// let left = try await uploads.shutDown(within: .seconds(10)).value
  /// for operation in left { log("Not finished: \(operation.name ?? "unnamed")") }
  /// ```
  ///
  /// From this call on:
  ///
  /// - What the library is asked to put *in* the queue fails with
  ///   ``ProperationsError/queueIsShutDown(queue:)``: `queue.run`, `addFuture(_:)`, and each
  ///   function with a parameter `in:`. A `TaskQueue` fails its new tasks with the same error.
  ///   It cancels other operations that are added to it, and drops blocks. (An operation whose
  ///   `start()` ignores the cancellation does its work: nothing else could finish it.) It lets
  ///   in the tasks that its own tasks need or produce, until the time is up. A task whose time
  ///   to be added comes later is refused then.
  /// - Closures that run `on:` the queue still run, because the work in the queue may need
  ///   them. If they wait for a slot when the time is up, they are cancelled.
  /// - An operation that is added to any other queue by Foundation's own methods cannot be
  ///   refused. It is waited for and cancelled as if it had been there before. If it is added
  ///   after the time is up, it runs.
  ///
  /// A call that adds work at the same time as this call may be accepted or refused.
  ///
  /// The future does not wait for an operation that ignores its cancellation: it is in the
  /// list. Pending futures and promises that belong to the queue are in the list themselves.
  /// If the queue is suspended, its operations do not start; after they have been cancelled,
  /// they finish as soon as the queue is resumed. On Linux a block that was added by
  /// Foundation's `addBarrierBlock` is neither waited for nor cancelled, because Foundation
  /// does not show it. Foundation may also crash there when operations behind such a block are
  /// cancelled, as with `cancelAllOperations()`: use `queue.run(barrier: true)` in queues that
  /// you shut down.
  ///
  /// In a Swift task that is cancelled, awaiting the value throws `CancellationError` at
  /// once, and the queue shuts down all the same. Await it in a task of its own there:
  /// `try await Task { try await left.value }.value`.
  ///
  /// A queue cannot be opened again. Cancelling the future ends only the wait. Each call has
  /// its own time. So a second call can shorten the first one, or give operations that were
  /// cancelled more time to finish. In a call from an operation of the queue, this operation
  /// is left out: it is neither waited for, nor cancelled, nor listed. In a call from a member
  /// of a group, the group is left out too. A Swift task that the operation has started is not
  /// the operation. If several Foundation operations that are not futures execute, the
  /// library cannot tell which one calls, and counts all of them. An operation that waits for the future on a serial queue also holds
  /// up the operations behind it, until the time is up.
  ///
  /// - Parameters:
  ///   - duration: The time that the work may take. If it is zero or negative, everything is
  ///     cancelled before the call returns. More than a century counts as a century.
  ///   - clock: Measures the time. Tests can pass a clock of their own. A clock whose `sleep`
  ///     throws has no time left.
  /// - Returns: A future of the operations that had not finished when the time was up; the
  ///   list is empty if all had. On the main queue the future fails
  ///   with ``ProperationsError/mainQueueCannotBeShutDown``, and nothing changes.
  /// - Complexity: O(n) in the number of operations.
  @discardableResult
  public func shutDown(
    within duration: Duration, clock: any Clock<Duration> = ContinuousClock(),
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<[Operation]> {
    if self === OperationQueue.main {
      return Promises.makeFailed(
        with: ProperationsError.mainQueueCannotBeShutDown, fileID: fileID, line: line)
    }
    let shutDown = QueueShutDown(of: self, at: Birthplace(fileID, line))
    shutDown.begin(duration, clock)
    return shutDown.result
  }

  /// Refuses new work, waits for the work in the queue, and cancels what is left.
  ///
  /// See ``shutDown(within:clock:fileID:line:)``.
  ///
  /// - Parameter interval: The time that the work may take.
  /// - Returns: A future of the operations that had not finished when the time was up.
  @_disfavoredOverload
  @discardableResult
  public func shutDown(
    within interval: DispatchTimeInterval, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Future<[Operation]> {
    shutDown(within: Duration(interval), fileID: fileID, line: line)
  }

  /// Whether the queue refuses new work, because ``shutDown(within:clock:fileID:line:)`` was
  /// called.
  public var isShutDown: Bool { ShutDownQueues.phase(of: self) != nil }
}
