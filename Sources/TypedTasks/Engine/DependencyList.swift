import Foundation

/// The dependencies of a task, in the order in which they were added.
///
/// Adding, removing and looking up take constant time, however many there are.
struct DependencyList {
  /// Up to this count, the list is searched from its start.
  private static let few = 16

  private var places: [Operation?] = []
  /// The place of each operation; made when there are more than a few.
  private var index: [ObjectIdentifier: Int]?
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var all: [Operation] { places.compactMap { $0 } }

  /// Adds an operation; `false` if it is already in the list.
  mutating func add(_ operation: Operation) -> Bool {
    guard place(of: operation) == nil else { return false }
    if index == nil, places.count >= Self.few { makeIndex() }
    index?[ObjectIdentifier(operation)] = places.count
    places.append(operation)
    count += 1
    return true
  }

  /// Removes an operation; `nil` if it is not in the list.
  mutating func remove(_ operation: Operation) -> Operation? {
    guard let place = place(of: operation) else { return nil }
    index?[ObjectIdentifier(operation)] = nil
    count -= 1
    let removed = places[place]
    places[place] = nil
    if places.count > Self.few, places.count > count * 2 {
      places.removeAll { $0 == nil }
      makeIndex()
    }
    return removed
  }

  private mutating func makeIndex() {
    index = [:]
    for (place, operation) in places.enumerated() {
      if let operation { index?[ObjectIdentifier(operation)] = place }
    }
  }

  func contains(_ operation: Operation) -> Bool { place(of: operation) != nil }

  private func place(of operation: Operation) -> Int? {
    if let index { return index[ObjectIdentifier(operation)] }
    return places.firstIndex { $0 === operation }
  }
}
