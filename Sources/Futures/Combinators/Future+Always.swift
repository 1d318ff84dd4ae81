import Foundation

extension Future {
  /// Runs a closure when the future settles, whether with a value, an error or a
  /// cancellation.
  ///
  /// If this future succeeds, fails or is cancelled, the returned future settles with the
  /// same result after the closure has run. If the returned future itself is cancelled,
  /// it settles at once, and the closure runs then. The closure runs exactly once in each
  /// case, even if the operations of the queue that it waits in are cancelled.
  ///
  /// - Parameters:
  ///   - context: Where the closure runs.
  ///   - body: Cleans up.
  @discardableResult
  public func always(
    on context: some ExecutionContext, fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @Sendable () -> Void
  ) -> Future<Success> {
    let context = ContextReference(context)
    return finally(on: context, at: Birthplace(fileID, line)) { done in
      body()
      done()
    }
  }

  /// Runs a closure when the future settles, whether with a value, an error or a
  /// cancellation.
  ///
  /// The closure runs on the main queue. The returned future settles with the same result
  /// after the closure has run; see ``always(on:fileID:line:perform:)``.
  ///
  /// - Parameter body: Cleans up.
  @discardableResult
  public func always(
    fileID: StaticString = #fileID, line: UInt = #line,
    perform body: @escaping @MainActor () -> Void
  ) -> Future<Success> {
    always(on: .main, fileID: fileID, line: line, perform: onMainSafeVoid(body))
  }

  /// Runs an async closure in a Swift task when the future settles, whatever its result
  /// is.
  ///
  /// The returned future settles with the same result after the closure has run; see
  /// ``always(on:fileID:line:perform:)``. Cancelling the future does not cancel the task,
  /// so that the cleanup runs to its end. The closure keeps the actor isolation of the
  /// place where it is written.
  ///
  /// - Parameters:
  ///   - priority: The priority of the task.
  ///   - body: Cleans up.
  @discardableResult
  public func always(
    priority: TaskPriority? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext perform body: @escaping @Sendable @isolated(any) () async -> Void
  ) -> Future<Success> {
    // Not that of the thread that settles the future.
    let path = FlightPath.current
    let traits: Traits = body.isolation === MainActor.shared ? .runsOnMain : []
    return finally(on: .inline, adding: traits, at: Birthplace(fileID, line)) { done in
      path.run {
        // Reports of the closure that has settled the future are not meant here.
        RunningClosure.outside {
          _ = Task(priority: priority) {
            await body()
            done()
          }
        }
      }
    }
  }

  /// Runs a closure in the end, whatever the end is; the returned future settles when the
  /// closure has called `done`.
  func finally(
    on context: ContextReference, adding traits: Traits = [], at birthplace: Birthplace,
    _ body: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void
  ) -> Future<Success> {
    // The closure may run from the call that cancels, with other task-local values.
    let once = Once(CarriedTaskLocals.bind(body))
    let future = Future.derived(
      from: self, traits: traits.union([.actsAlways, .isCleanUp]), on: context, at: birthplace,
      work: Work { future, source in
        guard let body = once.take() else {
          future.settle(like: source, from: .closure)
          return
        }
        body { future.settle(like: source, from: .closure) }
      })
    // If the future settles in another way before the closure has run, the closure runs
    // then.
    let cleanUp: @Sendable (AnyFuture) -> Void = { future in
      guard once.isThere else { return }
      // A separate continuation, which no cancellation reaches any more.
      let cleanup = Continuation(
        future, reading: future, .cleanup(Work { _, _ in if let body = once.take() { body {} } }))
      WorkLoop.current.perform { $0.handOff(cleanup, to: context) }
    }
    // A future derived from a settled one may have been cancelled in its queue by now.
    if !future.watch(cleanUp) { cleanUp(future) }
    return future
  }
}

/// A closure that can be taken once.
private final class Once<Body: Sendable>: Sendable {
  private let body: Lock<Body?>

  init(_ body: Body) { self.body = Lock(body) }

  var isThere: Bool { body.withLock { $0 != nil } }

  func take() -> Body? { body.withLock { $0.take() } }
}
