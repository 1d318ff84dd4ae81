import Foundation
import Futures

// The contexts of handlers.
//
//   a closure that is isolated to no actor   where the task finishes, or on the queue of
//                                            `receive(on:)`
//   a closure on the main actor, and what    on the main queue
//   `assign` writes for a caller there
//   a closure on another actor               in a Swift task on that actor
//   `receive(on:completion:)`                on that context

extension ProducerTask {
  /// Adds a handler that gets the result.
  ///
  /// A closure runs where its isolation says:
  ///
  /// - A closure on the main actor runs on the main queue. Every closure that is written
  ///   in a `@MainActor` class or function is one: it may use the class's properties.
  /// - Any other closure runs where the task finishes, or on the queue of
  ///   ``receive(on:)-(DispatchQueue)``. (In an actor, a closure that uses the actor runs
  ///   on the actor.)
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
  /// Each handler runs once, and those on one context run in the order in which they were
  /// added. A handler that is added when the task has finished runs too: at once where it
  /// was added, or on its context.
  ///
  /// Callers that await the task, or block in `wait(timeout:)`, are told when the handlers
  /// that run where the task finishes have run, and the others have been handed over to
  /// their contexts. They may then still run.
  ///
  /// A handler only looks on: the task is cancelled with the last stage that wants
  /// its value, and the handler gets that.
  ///
  /// - Parameter handler: Gets the result.
  @discardableResult
  public final func receive(
    @_inheritActorContext completion handler:
      @escaping @Sendable @isolated(any) (Produced) -> Void
  ) -> Self {
    let context = contextOfHandlers(on: isolation(of: handler))
    // The isolation is the context now: there the closure is called like any other.
    //
    // Why the cast is sound: the two types differ in the isolation only, which the closure
    // keeps among its captures, and the call is the same. The compiler's own conversion does
    // the same (`convert_function`, in debug and release builds), and warns. The language
    // has no other way: it lets an `@isolated(any)` closure be called by `await` only, which
    // would take a Swift task for each handler and lose their order; a dynamic cast fails.
    addHandler(on: context, unsafeBitCast(handler, to: (@Sendable (Produced) -> Void).self))
    return self
  }

  /// Adds a handler that gets the result in a context of its own.
  ///
  /// See ``receive(completion:)``. What ``receive(on:)-(DispatchQueue)`` says makes no
  /// difference to this handler.
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

  /// Says on which queue the handlers run that have no context of their own.
  ///
  /// It applies to all handlers and assignments of this task, those that were
  /// added before too, but for those on an actor or on a context of their own. The last
  /// call counts. The queue is kept until they have run.
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
  /// Called on the main actor, in a view model for one, it writes on the main queue. Called
  /// elsewhere, it writes where the task finishes, or on the queue of
  /// ``receive(on:)-(DispatchQueue)``: name one unless any thread may write to the object.
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
    // Sendable: the caller has said where the object may be written to.
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

/// The actor that a handler is isolated to.
///
/// A function of its own: inside `receive` the compiler looks for the isolation of the
/// caller.
private func isolation<Input>(of handler: @isolated(any) (Input) -> Void) -> (any Actor)? {
  handler.isolation
}

/// Where the closures of an actor run; `nil` for those of none.
private func contextOfHandlers(on actor: (any Actor)?) -> ContextReference? {
  guard let actor else { return nil }
  return actor === MainActor.shared
    ? ContextReference(.main) : ContextReference(ActorContext(actor: actor))
}

/// Runs closures on an actor.
private struct ActorContext: ExecutionContext {
  let actor: any Actor

  func execute(_ operation: Operation) { Task { await start(operation, on: actor) } }

  private func start(_ operation: Operation, on actor: isolated any Actor) async {
    operation.start()
  }
}
