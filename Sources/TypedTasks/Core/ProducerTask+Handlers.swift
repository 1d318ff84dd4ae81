import Foundation
import Futures

extension ProducerTask {
  /// Adds a handler that gets the result.
  ///
  /// Handlers run in the order in which they were added, each once: where the
  /// task finishes, or on the queue of ``receive(on:)-(DispatchQueue)``. One
  /// that is added when the task has finished runs at once, or on that queue.
  /// A handler looks on: the task is cancelled with the last stage that wants
  /// its value, and the handler gets that.
  ///
  /// - Parameter handler: Gets the result.
  @discardableResult
  public final func receive(completion handler: @escaping @Sendable (Produced) -> Void) -> Self {
    core.addHandler(to: self, isAssignment: false) { task in
      handler(unsafeDowncast(task, to: ProducerTask<Output, Failure>.self).settledProduced)
    }
    return self
  }

  /// Says on which queue the handlers run, wherever they stand in the chain.
  ///
  /// It applies to all handlers and assignments of this task, those that were
  /// added before too. The last call counts. The queue is kept until they have
  /// run.
  ///
  /// - Parameter queue: The queue.
  @discardableResult
  public final func receive(on queue: DispatchQueue) -> Self {
    core.receive(on: .dispatchQueue(queue))
    return self
  }

  /// Says on which operation queue the handlers run; see
  /// ``receive(on:)-(DispatchQueue)``.
  ///
  /// - Parameter queue: The queue.
  @discardableResult
  @_disfavoredOverload
  public final func receive(on queue: OperationQueue) -> Self {
    core.receive(on: .operationQueue(queue))
    return self
  }

  /// Writes the value to a property when the task succeeds.
  ///
  /// Assignments run after all handlers of ``receive(completion:)``, in the
  /// order in which they were added, and where those run. The object is kept
  /// until then. Name its queue with ``receive(on:)-(DispatchQueue)`` unless any
  /// thread may write to it.
  ///
  /// Called on the main actor, in a view model for one, it writes on the main queue,
  /// wherever the handlers run.
  ///
  /// - Parameters:
  ///   - keyPath: The property.
  ///   - object: The object.
  ///   - isolation: The actor of the caller; leave it out.
  @discardableResult
  public final func assign<Root>(
    to keyPath: ReferenceWritableKeyPath<Root, Output>, on object: Root,
    isolation: isolated (any Actor)? = #isolation
  ) -> Self {
    // Sendable: the caller has said where the object may be written to.
    nonisolated(unsafe) let (keyPath, object) = (keyPath, object)
    let isOnMainActor = isolation === MainActor.shared
    core.addHandler(to: self, isAssignment: true) { task in
      guard task.anyError == nil else { return }
      let value = unsafeDowncast(task, to: ProducerTask<Output, Failure>.self).settledValue
      if isOnMainActor, !MainQueue.isCurrent {
        DispatchQueue.main.async { object[keyPath: keyPath] = value }
      } else {
        object[keyPath: keyPath] = value
      }
    }
    return self
  }

  /// Runs a closure when the task is asked to cancel.
  ///
  /// Once, where the cancellation happens; at once if it has happened already;
  /// never if the task finishes otherwise, and is then released. Use it to stop
  /// work that does not look at `isCancelled`.
  ///
  /// - Parameter handler: Stops the work.
  @discardableResult
  public final func onCancellationRequest(_ handler: @escaping @Sendable () -> Void) -> Self {
    core.addCancellationHandler(to: self, handler)
    return self
  }
}
