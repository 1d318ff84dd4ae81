import Foundation

// The notices that futures give to the installed observer.

extension AnyFuture {
  /// Says that the failure of this future may be lost.
  ///
  /// The future's failure is not reported as a ``LostFailure``. The call does not look at the
  /// error. Of the futures that are made from this one it concerns those that share the failure,
  /// such as the one that `onSuccess` returns, and no others.
  ///
  /// - Returns: This future.
  /// - Complexity: O(1).
  @discardableResult
  public final func ignoreFailure() -> Self {
    uses.bitwiseOr(Self.mayLoseFailure, ordering: .relaxed)
    return self
  }

  /// Records that the future fails, and that no code has looked at the error.
  ///
  /// Called before other threads can see the failure, perhaps with the future's lock held. An
  /// observer that gets errors looks at them itself. A failure that the future has from its
  /// upstream is recorded there.
  @usableFromInline
  final func noteFailure() {
    guard DiagnosticsHook.hears(.mistakes), !traits.contains([.isObserver, .actsOnFailure]) else {
      return
    }
    if let watchedFailure { return watchedFailure.wasPassed(to: self) }
    guard uses.load(ordering: .relaxed) & Self.mayLoseFailure == 0, let error = storedError else {
      return
    }
    storedError = WatchedFailure(error, of: self)
    uses.bitwiseOr(Self.hasUnseenFailure, ordering: .relaxed)
  }

  /// Records that the failure of another future is also the failure of this one.
  ///
  /// Called as `noteFailure()` is, before it.
  final func noteSharing(failureOf source: AnyFuture) {
    guard source.outcome == .failure else { return }
    if source.watchedFailure != nil {
      uses.bitwiseOr(Self.hasUnseenFailure, ordering: .relaxed)
    } else if DiagnosticsHook.hears(.mistakes) {
      // The source has failed before the observer was installed.
      uses.bitwiseOr(Self.mayLoseFailure, ordering: .relaxed)
    }
  }

  /// Records that code has looked at the error.
  ///
  /// May be called with a lock held.
  @inline(__always)
  package final func noteLook() {
    guard uses.load(ordering: .relaxed) & Self.hasUnseenFailure != 0 else { return }
    uses.bitwiseOr(Self.mayLoseFailure, ordering: .relaxed)
  }

  /// Records that a waiter is told of a failure.
  @inline(__always)
  final func noteLook(by waiter: borrowing Waiter) {
    guard uses.load(ordering: .relaxed) & Self.hasUnseenFailure != 0 else { return }
    if waiter.looksAtErrors { uses.bitwiseOr(Self.mayLoseFailure, ordering: .relaxed) }
  }

  /// Records that a waiter has left, which would have looked at an error or taken it over.
  ///
  /// The future may have failed already: a join that is decided leaves the inputs that it has
  /// not looked at.
  @inline(__always)
  final func noteLeaving(_ waiter: borrowing Waiter) {
    if DiagnosticsHook.hears(.mistakes), waiter.wantsErrors { ignoreFailure() }
  }

  /// Reports that the future was released before it was settled.
  final func reportBrokenPromise() {
    guard DiagnosticsHook.hears(.mistakes) else { return }
    DiagnosticsHook.send {
      let report = BrokenPromise(createdAt: createdAt, name: ownName)
      return { $0.didBreakPromise(report) }
    }
  }

  /// Reports that a producer has settled the future although it had settled.
  ///
  /// Returns `false`, which is the result of such a settlement.
  @usableFromInline
  final func wasSettledAgain(with error: (any Error)?) -> Bool {
    guard DiagnosticsHook.hears(.mistakes), outcome != .cancelled, error?.isCancellation != true
    else { return false }
    DiagnosticsHook.send {
      let report = RepeatedSettlement(
        createdAt: createdAt, name: ownName, firstError: unseenError, secondError: error,
        secondCallStack: Thread.callStackSymbols)
      return { $0.didSettleAgain(report) }
    }
    return false
  }
}

extension Waiter {
  /// Whether the waiter gets the error of a failure.
  ///
  /// A future that only passes the failure on takes it over when it settles.
  fileprivate var looksAtErrors: Bool {
    switch self {
    case .future(let future):
      future.traits.contains(.actsOnFailure) && !future.traits.contains(.isCleanUp)
        && !future.isPassive
    case .callback(let callback): callback.isConsumer && !callback.waitsForFinish
    }
  }

  /// Whether the waiter, or one that has waited for it, would have got the error of a failure
  /// or taken it over.
  fileprivate var wantsErrors: Bool {
    if looksAtErrors { return true }
    guard case .future(let future) = self else { return false }
    return future.traits.isDisjoint(with: [.isObserver, .isCleanUp])
      || future.uses.load(ordering: .relaxed) & AnyFuture.mayLoseFailure != 0
  }
}
