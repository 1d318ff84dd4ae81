import Foundation

/// A promise that is pending, as ``Promises/pending(olderThan:)`` lists it.
public struct PendingPromise: Sendable, CustomStringConvertible {
  /// The place where the promise was made.
  public let createdAt: CreationSite
  /// The name of the promise, if it has one.
  public let name: String?
  /// The time since the promise was made.
  public let age: Duration

  /// The promise, its place and its age.
  public var description: String {
    "\(AnyFuture.title(createdAt, name)), pending for \(age)"
  }
}

extension Promises {
  /// The promises that have been pending for some time, oldest first.
  ///
  /// Only promises that were made while an observer was installed are listed, and only if its
  /// configuration records them (``FuturesDiagnostics/Configuration``). Otherwise the list is
  /// empty. The promises are those that a producer settles: ``Promise`` objects, and the
  /// futures of resolvers. The record keeps no promise alive.
  ///
  /// - Parameter age: The least time since a listed promise was made. A negative time counts
  ///   as zero.
  /// - Complexity: O(n log n) for n recorded promises.
  public static func pending(olderThan age: Duration = .zero) -> [PendingPromise] {
    PendingPromises.all(olderThan: age.clampedNanoseconds)
  }
}

/// The record of pending promises.
///
/// A promise does not leave the record by itself. When the record has doubled, promises that
/// have settled or were released are removed.
package enum PendingPromises {
  private struct Entry {
    let promise: FutureReference
    let madeAt: UInt64
  }

  private struct State {
    var entries: [Entry] = []
    var nextCleaning = leastCleaning
    /// Counts the times that the record was emptied for good.
    var generation = 0
  }

  private static let leastCleaning = 1_024
  private static let state = Lock(State())

  /// Records a promise, if the installed observer wants that.
  @inline(__always)
  static func add(_ promise: AnyFuture) {
    if DiagnosticsHook.hears(.pendingPromises) { record(promise) }
  }

  private static func record(_ promise: AnyFuture) {
    let entry = Entry(promise: promise.reference, madeAt: DispatchTime.now().uptimeNanoseconds)
    let isFull = state.withLock { state in
      state.entries.append(entry)
      guard state.entries.count >= state.nextCleaning else { return false }
      state.nextCleaning = .max
      return true
    }
    if isFull { clean() }
  }

  private static func clean() {
    // The entries stay in the record meanwhile, because another thread may list them.
    let (entries, generation) = state.withLock { ($0.entries, $0.generation) }
    // Reading a reference may release its promise, so no lock is held.
    let pending = entries.filter { $0.promise.future?.isSettled == false }
    let last = state.withLock { state -> [Entry] in
      guard state.generation == generation else { return [] }
      let former = state.entries
      state.entries = pending + former[entries.count...]
      state.nextCleaning = max(leastCleaning, state.entries.count * 2)
      return former
    }
    withExtendedLifetime(last) {}
  }

  /// The number of promises in the record, including those that have settled.
  package static var count: Int { state.withLock { $0.entries.count } }

  static func forgetAll() {
    let last = state.withLock { state in
      defer { state = State(generation: state.generation + 1) }
      return state.entries
    }
    withExtendedLifetime(last) {}
  }

  static func all(olderThan age: UInt64) -> [PendingPromise] {
    let now = DispatchTime.now().uptimeNanoseconds
    return state.withLock { $0.entries }.sorted { $0.madeAt < $1.madeAt }.compactMap { entry in
      let entryAge = now > entry.madeAt ? now - entry.madeAt : 0
      guard entryAge >= age, let promise = entry.promise.future, !promise.isSettled else {
        return nil
      }
      return PendingPromise(
        createdAt: promise.createdAt, name: promise.ownName,
        age: .nanoseconds(Int64(clamping: entryAge)))
    }
  }
}
