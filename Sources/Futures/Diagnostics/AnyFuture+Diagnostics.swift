import Foundation

// The notices that futures give to the installed observer.

extension AnyFuture {
  /// Says that the failure of this future may be lost.
  ///
  /// The future's failure is not reported as a ``LostFailure``. The call does not look at the
  /// error, and does not concern futures that are made from this one.
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
  /// observer that gets errors looks at them itself.
  @usableFromInline
  final func noteFailure() {
    guard DiagnosticsHook.hears(.mistakes), !traits.contains([.isObserver, .actsOnFailure]) else {
      return
    }
    uses.bitwiseOr(Self.hasUnseenFailure, ordering: .relaxed)
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

  /// Records that a waiter has left, which would have looked at an error.
  @inline(__always)
  final func noteLeaving(_ waiter: borrowing Waiter) {
    if DiagnosticsHook.hears(.mistakes), !isSettled, waiter.looksAtErrors { ignoreFailure() }
  }

  /// Reports the failure of a future that is being released.
  final func reportLostFailure() {
    guard outcome == .failure, let error = unseenError else { return }
    DiagnosticsHook.send {
      let report = LostFailure(error: error, createdAt: createdAt, name: ownName)
      return { $0.didLoseFailure(report) }
    }
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
    case .future(let future): future.traits.contains(.actsOnFailure) && !future.isPassive
    case .callback(let callback): callback.isConsumer && !callback.waitsForFinish
    }
  }
}
