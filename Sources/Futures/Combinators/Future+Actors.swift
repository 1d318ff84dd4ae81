import Foundation

// The forms whose closures get an actor and are isolated to it. The context is the one of
// `ActorContext`; the compiler checks what the closures touch.

extension Future {
  /// Transforms the value on an actor.
  ///
  /// The closure is isolated to the actor: it may read and change its state.
  ///
  /// ```swift
  /// let count = row.mapToValue(on: archive) { archive, row in
  ///   archive.rows.append(row)
  ///   return archive.rows.count
  /// }
  /// ```
  ///
  /// An error that the closure throws fails the new future. A failure of this future skips
  /// the closure. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - transform: Gets the actor and the value, and returns the new value.
  public func mapToValue<Isolation: Actor, NewSuccess: Sendable>(
    on actor: Isolation, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (isolated Isolation, Success) throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToValue(on: .actor(actor), fileID: fileID, line: line, using: isolated(to: actor, transform))
  }

  /// Continues with a future that an actor makes from the value.
  ///
  /// The closure is isolated to the actor. See
  /// ``mapToFuture(on:fileID:line:using:)-(ExecutionContext,_,_,_)`` and ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - transform: Gets the actor and the value, and returns the future to wait for.
  public func mapToFuture<Isolation: Actor, NewSuccess: Sendable>(
    on actor: Isolation, fileID: StaticString = #fileID, line: UInt = #line,
    using transform:
      @escaping @Sendable (isolated Isolation, Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(
      on: .actor(actor), fileID: fileID, line: line, using: isolated(to: actor, transform))
  }

  /// Replaces an error with a value that an actor makes.
  ///
  /// The closure is isolated to the actor. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - transform: Gets the actor and the error, and returns a value or throws.
  public func recover<Isolation: Actor>(
    on actor: Isolation, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (isolated Isolation, any Error) throws -> Success
  ) -> Future<Success> {
    recover(on: .actor(actor), fileID: fileID, line: line, using: isolated(to: actor, transform))
  }

  /// Calls a closure on an actor with the value.
  ///
  /// The closure is isolated to the actor. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - handler: Called with the actor and the value.
  @discardableResult
  public func onSuccess<Isolation: Actor>(
    on actor: Isolation, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable (isolated Isolation, Success) -> Void
  ) -> Future<Success> {
    onSuccess(
      on: .actor(actor), fileID: fileID, line: line, perform: isolatedSafe(to: actor, handler))
  }

  /// Calls a closure on an actor with the error.
  ///
  /// The closure is isolated to the actor. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - handler: Called with the actor and the error;
  ///     ``ProperationsError/cancelled`` after a cancellation.
  @discardableResult
  public func onFailure<Isolation: Actor>(
    on actor: Isolation, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable (isolated Isolation, any Error) -> Void
  ) -> Future<Success> {
    onFailure(
      on: .actor(actor), fileID: fileID, line: line, perform: isolatedSafe(to: actor, handler))
  }

  /// Calls a closure on an actor with the result.
  ///
  /// The closure is isolated to the actor. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - handler: Called with the actor and the result.
  @discardableResult
  public func onCompletion<Isolation: Actor>(
    on actor: Isolation, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable (isolated Isolation, FutureResult<Success>) -> Void
  ) -> Future<Success> {
    onCompletion(
      on: .actor(actor), fileID: fileID, line: line, perform: isolatedSafe(to: actor, handler))
  }
}

extension Promises {
  /// Runs a closure on an actor.
  ///
  /// The closure is isolated to the actor. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - body: Gets the actor, and returns the value or throws.
  public static func run<Isolation: Actor, Success: Sendable>(
    on actor: Isolation, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (isolated Isolation) throws -> Success
  ) -> Future<Success> {
    run(on: .actor(actor), fileID: fileID, line: line) {
      try actor.assumeIsolated { try body($0) }
    }
  }
}

// The same for closures that do not get the actor. Disfavored: an actor that is declared to be
// an `ExecutionContext` matches the general forms, too.

extension Future {
  /// Transforms the value on an actor.
  ///
  /// The closure runs on the actor, and does not get it. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - transform: Returns the new value.
  @_disfavoredOverload
  public func mapToValue<NewSuccess: Sendable>(
    on actor: some Actor, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success) throws -> NewSuccess
  ) -> Future<NewSuccess> {
    mapToValue(on: .actor(actor), fileID: fileID, line: line, using: transform)
  }

  /// Continues with a future that a closure makes on an actor.
  ///
  /// The closure runs on the actor, and does not get it. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - transform: Returns the future to wait for.
  @_disfavoredOverload
  public func mapToFuture<NewSuccess: Sendable>(
    on actor: some Actor, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (Success) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    mapToFuture(on: .actor(actor), fileID: fileID, line: line, using: transform)
  }

  /// Replaces an error with a value, on an actor.
  ///
  /// The closure runs on the actor, and does not get it. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - transform: Returns a value or throws.
  @_disfavoredOverload
  public func recover(
    on actor: some Actor, fileID: StaticString = #fileID, line: UInt = #line,
    using transform: @escaping @Sendable (any Error) throws -> Success
  ) -> Future<Success> {
    recover(on: .actor(actor), fileID: fileID, line: line, using: transform)
  }

  /// Calls a closure on an actor with the value.
  ///
  /// The closure runs on the actor, and does not get it. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - handler: Called with the value.
  @discardableResult
  @_disfavoredOverload
  public func onSuccess(
    on actor: some Actor, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable (Success) -> Void
  ) -> Future<Success> {
    onSuccess(on: .actor(actor), fileID: fileID, line: line, perform: handler)
  }

  /// Calls a closure on an actor with the error.
  ///
  /// The closure runs on the actor, and does not get it. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - handler: Called with the error.
  @discardableResult
  @_disfavoredOverload
  public func onFailure(
    on actor: some Actor, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable (any Error) -> Void
  ) -> Future<Success> {
    onFailure(on: .actor(actor), fileID: fileID, line: line, perform: handler)
  }

  /// Calls a closure on an actor with the result.
  ///
  /// The closure runs on the actor, and does not get it. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - handler: Called with the result.
  @discardableResult
  @_disfavoredOverload
  public func onCompletion(
    on actor: some Actor, fileID: StaticString = #fileID, line: UInt = #line,
    perform handler: @escaping @Sendable (FutureResult<Success>) -> Void
  ) -> Future<Success> {
    onCompletion(on: .actor(actor), fileID: fileID, line: line, perform: handler)
  }
}

extension Promises {
  /// Runs a closure on an actor.
  ///
  /// The closure does not get the actor. See ``ActorContext``.
  ///
  /// - Parameters:
  ///   - actor: Where the closure runs. The future keeps it while the closure waits.
  ///   - body: Returns the value or throws.
  @_disfavoredOverload
  public static func run<Success: Sendable>(
    on actor: some Actor, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable () throws -> Success
  ) -> Future<Success> {
    run(on: .actor(actor), fileID: fileID, line: line, body)
  }
}

/// Makes a closure that is isolated to an actor callable from a context that is known to run
/// on the actor.
private func isolated<Isolation: Actor, Input: Sendable, Output: Sendable>(
  to actor: Isolation, _ body: @escaping @Sendable (isolated Isolation, Input) throws -> Output
) -> @Sendable (Input) throws -> Output {
  { input in try actor.assumeIsolated { try body($0, input) } }
}

private func isolatedSafe<Isolation: Actor, Input: Sendable>(
  to actor: Isolation, _ body: @escaping @Sendable (isolated Isolation, Input) -> Void
) -> @Sendable (Input) -> Void {
  { input in actor.assumeIsolated { body($0, input) } }
}
