/// A closure that is told when a future settles, and does not want its value.
///
/// A future that is released unsettled tells its watchers that its promise is broken.
package final class Watcher: CallbackWaiter, @unchecked Sendable {
  // Sendable: nothing changes after init.

  /// The moment at which a watcher is told.
  package enum Moment: Sendable {
    case settled
    case cancelled
    /// Like `cancelled`, but the closure is user code, and runs as an inline closure.
    case cancelledForUser
    case finished
  }

  private let moment: Moment
  private let body: @Sendable (AnyFuture) -> Void

  package init(_ moment: Moment, _ body: @escaping @Sendable (AnyFuture) -> Void) {
    self.moment = moment
    self.body = body
    super.init()
  }

  package override func deliver(_ source: AnyFuture) {
    switch moment {
    case .settled, .finished:
      body(source)
    case .cancelled:
      if source.outcome == .cancelled { body(source) }
    case .cancelledForUser:
      guard source.outcome == .cancelled else { return }
      WorkLoop.current.runInline { [body] in releasingAutoreleased { body(source) } }
    }
  }

  package override var isConsumer: Bool { false }
  package override var waitsForFinish: Bool { moment == .finished }
}

extension AnyFuture {
  /// Adds a closure that runs when the future settles.
  ///
  /// - Returns: `false` if the future has settled (or finished, if the closure waits for
  ///   that). Then the closure does not run.
  package final func watch(_ body: @escaping @Sendable (AnyFuture) -> Void) -> Bool {
    watch(with: Watcher(.settled, body))
  }

  /// Adds a closure that runs at the given moment.
  package final func watch(
    _ moment: Watcher.Moment, _ body: @escaping @Sendable (AnyFuture) -> Void
  ) -> Bool {
    watch(with: Watcher(moment, body))
  }

  /// Calls a user's closure when the future is cancelled, or at once if that has
  /// happened.
  final func whenCancelled(_ handler: @escaping @Sendable () -> Void) {
    let handler = CarriedTaskLocals.bind(handler)
    if watch(.cancelledForUser, { _ in handler() }) { return }
    if isCancelled { releasingAutoreleased { handler() } }
  }

  /// Adds a watcher, which the caller can detach.
  package final func watch(with watcher: CallbackWaiter) -> Bool {
    uses.bitwiseOr(
      watcher.waitsForFinish ? Self.isWatched | Self.hasFinishWaiters : Self.isWatched,
      ordering: .sequentiallyConsistent)
    guard storage.attachIfPending(.callback(watcher)) else { return false }
    pin()
    // (Something depends on the future.)
    if watcher.waitsForFinish { startBecauseObserved() }
    return true
  }
}
