import Foundation
import Futures

/// A dependency of a task.
///
/// A task does not own a future that is no task before the future has settled: a promise
/// that everybody else has dropped then counts as finished, instead of keeping the task
/// waiting for ever. A settled future is kept, for conditions that look at it.
struct Dependency {
  /// The operation, if the task owns it.
  private var owned: Operation?
  /// The reference to a future that is no task.
  private let reference: FutureReference?
  /// Tells the task that the future has settled.
  let watcher: Watcher?

  /// Makes a dependency, whose watcher has not been attached yet.
  ///
  /// - Parameter whenSettled: Called when a future that the task does not own settles,
  ///   with the future, or with a stand-in for a promise that was dropped.
  init(_ operation: Operation, whenSettled: @escaping @Sendable (AnyFuture) -> Void) {
    reference = Self.reference(to: operation)
    let isSettled = (operation as? AnyFuture)?.isSettled != false
    owned = reference == nil || isSettled ? operation : nil
    watcher = reference == nil || isSettled ? nil : Watcher(.settled, whenSettled)
  }

  /// The operation, if it still exists.
  var operation: Operation? { owned ?? reference?.future }

  /// Whether the task does not own the operation.
  var isWeak: Bool { owned == nil }

  var id: ObjectIdentifier {
    if let reference { return ObjectIdentifier(reference) }
    return ObjectIdentifier(owned!)
  }

  /// The identity of an operation among the dependencies: that of an object that the
  /// dependency keeps.
  ///
  /// A new operation may have the address of a promise that was released.
  static func id(of operation: Operation) -> ObjectIdentifier {
    ObjectIdentifier(reference(to: operation) ?? operation)
  }

  private static func reference(to operation: Operation) -> FutureReference? {
    guard let future = operation as? AnyFuture, future.taskCore == nil else { return nil }
    return future.reference
  }

  /// Owns the future from now on, because it has settled.
  mutating func keep() { owned = reference?.future }

  /// Stops watching the future.
  func stopWatching() {
    guard let watcher else { return }
    reference?.future?.detach(.callback(watcher), cancelling: false)
  }
}

/// The dependencies of a task, in the order in which they were added.
///
/// Adding, removing and looking up take constant time, however many there are.
struct DependencyList {
  /// Up to this count, the list is searched from its start.
  private static let few = 16

  private var places: [Dependency?] = []
  /// The place of each dependency, by its identity; made when there are more than a few.
  private var index: [ObjectIdentifier: Int]?
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var all: [Dependency] { places.compactMap { $0 } }
  /// The operations that still exist.
  var operations: [Operation] { places.compactMap { $0?.operation } }

  /// Adds a dependency; `false` if its operation is already in the list.
  mutating func add(_ dependency: Dependency) -> Bool {
    guard place(of: dependency.id) == nil else { return false }
    if index == nil, places.count >= Self.few { makeIndex() }
    index?[dependency.id] = places.count
    places.append(dependency)
    count += 1
    return true
  }

  /// Removes the dependency with an identity; `nil` if it is not in the list.
  mutating func remove(_ id: ObjectIdentifier) -> Dependency? {
    guard let place = place(of: id) else { return nil }
    index?[id] = nil
    count -= 1
    let removed = places[place]
    places[place] = nil
    if places.count > Self.few, places.count > count * 2 {
      places.removeAll { $0 == nil }
      makeIndex()
    }
    return removed
  }

  /// Owns a future that has settled.
  mutating func keep(_ id: ObjectIdentifier) {
    if let place = place(of: id) { places[place]?.keep() }
  }

  private mutating func makeIndex() {
    index = [:]
    for (place, dependency) in places.enumerated() {
      if let dependency { index?[dependency.id] = place }
    }
  }

  func contains(_ id: ObjectIdentifier) -> Bool { place(of: id) != nil }

  private func place(of id: ObjectIdentifier) -> Int? {
    if let index { return index[id] }
    return places.firstIndex { $0?.id == id }
  }
}
