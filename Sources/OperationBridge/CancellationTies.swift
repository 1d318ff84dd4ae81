import Foundation
import Futures

extension Operation {
  /// Cancels this operation as soon as a future fails or is cancelled.
  ///
  /// At once if it has already. The tie keeps neither of the two.
  ///
  /// - Parameter future: The future to watch.
  /// - Returns: This very operation.
  @discardableResult
  public func cancel(onFailureOf future: AnyFuture) -> Self {
    let isWatching = future.watch { [weak self] future in
      if future.hasFailed { self?.cancel() }
    }
    if !isWatching, future.hasFailed { cancel() }
    return self
  }
}

extension AnyFuture {
  /// Cancels this future as soon as an operation has finished, done or cancelled.
  ///
  /// At once if it has already, or was cancelled before. The tie keeps neither
  /// of the two. It uses the operation's completion block: one that is set
  /// before is kept, one that is set afterwards unties the two. (Another future
  /// is watched directly.)
  ///
  /// - Parameter operation: The operation to watch.
  /// - Returns: This very future.
  @discardableResult
  public func cancel(onFinishOf operation: Operation) -> Self {
    if let other = operation as? AnyFuture {
      if !other.watch({ [weak self] _ in self?.cancel() }) { cancel() }
      return self
    }
    TiedFutures.add(reference, to: operation)
    if operation.isCancelled { cancel() }
    return self
  }

  fileprivate var hasFailed: Bool { isFulfilled && anyError != nil }
}

/// The futures that are to be cancelled when an operation finishes.
///
/// The operation's completion block owns them, and nothing else: so they go
/// with the operation, and keep it no longer than it lives.
private final class TiedFutures: Sendable {
  private struct State {
    var futures: [FutureReference] = []
    /// How many there may be before those that are gone are dropped.
    var limit = 16
  }

  private final class Entry: Sendable {
    let id: ObjectIdentifier
    // Sendable: never written after init.
    nonisolated(unsafe) private(set) weak var ties: TiedFutures?

    init(_ ties: TiedFutures) {
      id = ObjectIdentifier(ties)
      self.ties = ties
    }
  }

  private let state = Lock(State())
  private let operationID: ObjectIdentifier

  private static let all = Lock<[ObjectIdentifier: Entry]>([:])

  private init(_ operation: Operation) { operationID = ObjectIdentifier(operation) }

  deinit {
    Self.all.withLock { all in
      // Another list may have taken the place since.
      if all[operationID]?.id == ObjectIdentifier(self) { all[operationID] = nil }
    }
  }

  static func add(_ future: FutureReference, to operation: Operation) {
    let id = ObjectIdentifier(operation)
    let made = TiedFutures(operation)
    // One thread installs the completion block, the others use its list.
    let ties = all.withLock { all in
      if let ties = all[id]?.ties { return ties }
      all[id] = Entry(made)
      return made
    }
    ties.add(future)
    if ties === made {
      let previous = operation.completionBlock
      operation.completionBlock = {
        previous?()
        ties.cancelAll()
      }
    }
    // The completion block may have come too late, for those who have added
    // themselves meanwhile too.
    if operation.isFinished { ties.cancelAll() }
  }

  private func add(_ future: FutureReference) {
    // Those that are still there come out of the lock: looking at them may make
    // this the last to release them.
    let alive = state.withLock { state -> [AnyFuture] in
      state.futures.append(future)
      guard state.futures.count > state.limit else { return [] }
      let alive = state.futures.map(\.future)
      state.futures = zip(state.futures, alive).filter { $1 != nil }.map(\.0)
      state.limit = max(16, state.futures.count * 2)
      return alive.compactMap { $0 }
    }
    withExtendedLifetime(alive) {}
  }

  private func cancelAll() {
    let futures = state.withLock { state in
      defer { state.futures = [] }
      return state.futures
    }
    for future in futures { future.future?.cancel() }
  }
}
