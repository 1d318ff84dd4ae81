import Synchronization

/// An error that is reported if no code looks at it.
///
/// A failed future stores it in place of the error while an observer is installed. The
/// futures that only pass the failure on, such as those of `onSuccess` and `always`, store
/// the same object. So the failure is lost when the last of them has gone, and code has
/// looked at none of them.
final class WatchedFailure: Error, Sendable {
  /// What a report says of a future.
  private final class Origin: Sendable {
    let birthplace: Birthplace
    let type: Any.Type
    let name: String?

    init(_ future: AnyFuture) {
      birthplace = future.birthplace
      type = future.valueType
      name = future.ownName
    }
  }

  let error: any Error
  private let origin: Origin
  // No locks: futures fail under theirs. And not the library's own atomic type: a schedule
  // that is explored must not depend on it.
  private let receiver = AtomicLazyReference<Origin>()
  private let isSeen = Synchronization.Atomic<Bool>(false)

  init(_ error: any Error, of future: AnyFuture) {
    self.error = error
    origin = Origin(future)
  }

  /// Records the future that has passed the failure on, which a report names then.
  func wasPassed(to future: AnyFuture) {
    if receiver.load() == nil { _ = receiver.storeIfNil(Origin(future)) }
  }

  /// Records that code has looked at the error, or need not do so.
  ///
  /// Each future calls it at the latest when it goes.
  func look() { isSeen.store(true, ordering: .relaxed) }

  deinit {
    guard !isSeen.load(ordering: .relaxed) else { return }
    DiagnosticsHook.send {
      let (error, origin) = (error, receiver.load() ?? origin)
      return { observer in
        // Here, because a list of joined errors is made when it is read.
        observer.didLoseFailure(
          LostFailure(
            error: error.read, createdAt: origin.birthplace.site(of: origin.type),
            name: origin.name))
      }
    }
  }
}
