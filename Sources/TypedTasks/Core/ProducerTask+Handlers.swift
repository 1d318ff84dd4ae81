import Foundation
import Futures

// The contexts of handlers.
//
//   a closure that is isolated to no actor   where the task finishes, or on the queue of
//                                            `receive(on:)`
//   a closure on the main actor, and an      on the main queue
//   assignment that a caller there makes
//   a closure on another actor               on that actor
//   `receive(on:completion:)`                on that context

extension ProducerTask {
  /// Adds a handler that gets the result.
  ///
  /// The isolation of the closure decides where it runs:
  ///
  /// - A closure on the main actor runs on the main queue. Every closure that is written
  ///   in a `@MainActor` class or function is on the main actor and may use the class's
  ///   properties.
  /// - Any other closure runs where the task finishes, or on the queue of
  ///   ``receive(on:)-(DispatchQueue)``. In an actor, a closure that uses the actor runs
  ///   on the actor.
  ///
  /// ```swift
  /// @MainActor
  /// final class Counter {
  ///   private(set) var lines = 0
  ///
  ///   func show(_ count: CountLines) {
  ///     count.receive { result in
  ///       if case .success(let lines) = result { self.lines = lines }
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// Each handler runs once. Handlers on one context that runs one closure at a time run in the
  /// order in which they were added. A handler that is added after the task has finished runs
  /// too, at once on the calling thread or on its context.
  ///
  /// Callers that await the task, or block in `wait(timeout:)`, continue when the
  /// handlers that run where the task finishes have run and the other handlers have been
  /// handed over to their contexts. The handlers that were handed over may then still
  /// run.
  ///
  /// A handler is a watcher: the task is cancelled with its last consumer, and the
  /// handler gets the cancellation.
  ///
  /// - Parameter handler: Gets the result.
  @discardableResult
  public final func receive(
    @_inheritActorContext completion handler:
      @escaping @Sendable @isolated(any) (Produced) -> Void
  ) -> Self {
    let context = contextOfHandlers(on: isolation(of: handler))
    // The isolation is now the context, where the closure is called like any other
    // closure.
    //
    // The cast is sound: the two types differ only in the isolation, which the closure
    // keeps among its captures, and the call is the same. The compiler's own conversion
    // does the same (`convert_function`, in debug and release builds), and warns. The
    // language has no other way. It allows only `await` to call an `@isolated(any)`
    // closure, which would take a Swift task for each handler and lose the order of
    // handlers. A dynamic cast fails.
    addHandler(on: context, unsafeBitCast(handler, to: (@Sendable (Produced) -> Void).self))
    return self
  }

  /// Adds a handler that gets the result in a context of its own.
  ///
  /// See ``receive(completion:)``. ``receive(on:)-(DispatchQueue)`` has no effect on this
  /// handler.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs; `.inline` is where the task finishes.
  ///   - handler: Gets the result.
  @discardableResult
  public final func receive(
    on context: some ExecutionContext, completion handler: @escaping @Sendable (Produced) -> Void
  ) -> Self {
    addHandler(on: ContextReference(context), handler)
    return self
  }

  private func addHandler(
    on context: ContextReference?, _ handler: @escaping @Sendable (Produced) -> Void
  ) {
    let handler = TaskCore.Handler(context: context) { task in
      handler(unsafeDowncast(task, to: ProducerTask<Output, Failure>.self).settledProduced)
    }
    core.addHandler(to: self, isAssignment: false, handler)
  }

  /// Sets the queue of all handlers that have no context of their own.
  ///
  /// It applies to all handlers and assignments of this task, including those that were
  /// added before, except those on an actor or on a context of their own. The last call
  /// counts. The task keeps the queue, because handlers that are added later run there, too.
  ///
  /// - Parameter queue: The queue.
  @discardableResult
  public final func receive(on queue: DispatchQueue) -> Self {
    core.receive(on: .dispatchQueue(queue))
    return self
  }

  /// Sets the operation queue of the handlers; see ``receive(on:)-(DispatchQueue)``.
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
  /// A call on the main actor, for example in a view model, makes the task write on the
  /// main queue. Otherwise the task writes where it finishes, or on the queue of
  /// ``receive(on:)-(DispatchQueue)``. Name a queue unless any thread may write to the
  /// object.
  ///
  /// The assignments on one context run after all handlers of ``receive(completion:)``
  /// there, in the order in which they were added. The object is kept until then.
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
    // Sendable: the caller decides where the object may be written to.
    nonisolated(unsafe) let (keyPath, object) = (keyPath, object)
    let isOnMainActor = isolation === MainActor.shared
    let handler = TaskCore.Handler(context: isOnMainActor ? ContextReference(.main) : nil) { task in
      guard task.anyError == nil else { return }
      object[keyPath: keyPath] =
        unsafeDowncast(task, to: ProducerTask<Output, Failure>.self).settledValue
    }
    core.addHandler(to: self, isAssignment: true, handler)
    return self
  }

  /// Runs a closure when the task is asked to cancel, or ends as cancelled.
  ///
  /// The closure runs once, on the thread that cancels the task, or at once if the task
  /// has already been asked to cancel. If the task finishes otherwise, the closure is
  /// released and never runs. Use it to stop work that does not check `isCancelled`.
  ///
  /// - Parameter handler: Stops the work.
  @discardableResult
  public final func onCancellationRequest(_ handler: @escaping @Sendable () -> Void) -> Self {
    core.addCancellationHandler(to: self, handler)
    return self
  }
}

/// The actor that a handler is isolated to.
///
/// It is a function of its own because inside `receive` the compiler looks for the
/// isolation of the caller.
private func isolation<Input>(of handler: @isolated(any) (Input) -> Void) -> (any Actor)? {
  handler.isolation
}

/// The context for closures of an actor; `nil` without an actor.
private func contextOfHandlers(on actor: (any Actor)?) -> ContextReference? {
  actor.map { ContextReference(ActorContext($0)) }
}
