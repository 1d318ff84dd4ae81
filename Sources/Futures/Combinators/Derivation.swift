import Foundation

// The primitives that the combinators are made of. Each combinator is a few lines over
// one of them. No combinator has a lock or a list of its own.

extension Future {
  /// Makes a future that runs a closure on the result of `source`.
  ///
  /// - Parameters:
  ///   - traits: The outcomes that the closure acts on; the others pass through.
  ///   - work: Settles the future that it gets, or makes it wait for another one.
  @inlinable
  static func derived(
    from source: AnyFuture, traits: Traits, on context: ContextReference,
    at birthplace: Birthplace, work: Work?
  ) -> Future<Success> {
    let future = Future<Success>(
      traits: traits, context: context, upstream: source.edge, at: birthplace, work: work)
    source.attach(.future(future), isConsumer: !future.isPassive)
    return future
  }

  /// Makes a future of the value that a closure returns or the error that it throws.
  @inline(__always)
  func transformed<NewSuccess: Sendable>(
    _ traits: Traits, on context: some ExecutionContext, at birthplace: Birthplace,
    _ transform: @escaping @Sendable (FutureResult<Success>) throws -> NewSuccess
  ) -> Future<NewSuccess> {
    .derived(
      from: self, traits: traits, on: ContextReference(context), at: birthplace,
      work: Work { future, source in
        let future = unsafeDowncast(future, to: Future<NewSuccess>.self)
        let source = unsafeDowncast(source, to: Future<Success>.self)
        do {
          future.settle(success: try transform(source.settledResult), from: .closure)
        } catch {
          future.settle(failure: error, from: .closure)
        }
      })
  }

  /// Makes a future that settles like the future that a closure returns.
  @inline(__always)
  func flattened<NewSuccess: Sendable>(
    _ traits: Traits, on context: ContextReference, at birthplace: Birthplace,
    _ transform: @escaping @Sendable (FutureResult<Success>) throws -> Future<NewSuccess>
  ) -> Future<NewSuccess> {
    .derived(
      from: self, traits: traits.union(.mayBeReleasedPending), on: context, at: birthplace,
      work: Work { future, source in
        let source = unsafeDowncast(source, to: Future<Success>.self)
        do {
          let inner = try transform(source.settledResult)
          if inner.isSettled {
            future.settle(like: inner, from: .closure)
          } else {
            ForwardingWaiter.link(future, to: inner)
          }
        } catch {
          future.settle(failure: error, from: .closure)
        }
      })
  }

  /// Makes a future that settles like the future that a closure returns.
  ///
  /// The closure runs in a context, and needs no other future to start.
  static func started(
    on context: ContextReference, at birthplace: Birthplace,
    _ makeFuture: @escaping @Sendable () throws -> Future<Success>
  ) -> Future<Success> {
    let start = Future<Void>(traits: [], at: birthplace)
    start.settle(.success)
    return start.flattened(.actsOnSuccess, on: context, at: birthplace) { _ in try makeFuture() }
  }

  /// Makes a future with the same result, and a handler that runs after it.
  func observed(
    _ traits: Traits, on context: some ExecutionContext, at birthplace: Birthplace,
    _ handler: @escaping @Sendable (FutureResult<Success>) -> Void
  ) -> Future<Success> {
    .derived(
      from: self, traits: traits.union(.isObserver), on: ContextReference(context),
      at: birthplace,
      work: Work { _, source in
        handler(unsafeDowncast(source, to: Future<Success>.self).settledResult)
      })
  }

  /// Makes a future with the same result, settled on the same thread.
  func passedThrough(_ traits: Traits = [], at birthplace: Birthplace) -> Future<Success> {
    .derived(from: self, traits: traits, on: .inline, at: birthplace, work: nil)
  }
}

/// Makes a main-actor closure callable from a context that is known to be the main queue.
@inline(__always)
func onMain<Input: Sendable, Output: Sendable>(
  _ body: @escaping @MainActor (Input) throws -> Output
) -> @Sendable (Input) throws -> Output {
  { input in try MainActor.assumeIsolated { try body(input) } }
}

@inline(__always)
func onMainSafe<Input: Sendable, Output: Sendable>(
  _ body: @escaping @MainActor (Input) -> Output
) -> @Sendable (Input) -> Output {
  { input in MainActor.assumeIsolated { body(input) } }
}

@inline(__always)
func onMainSafeVoid<Output: Sendable>(
  _ body: @escaping @MainActor () -> Output
) -> @Sendable () -> Output {
  { MainActor.assumeIsolated { body() } }
}
