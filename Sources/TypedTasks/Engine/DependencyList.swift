import Foundation

/// What a task depends on, in the order in which it was added.
///
/// Adding, removing and looking up take constant time, however many there are.
struct DependencyList {
  /// So many are looked through.
  private static let few = 16

  private var places: [Operation?] = []
  /// Where each one is; made when there are more than a few.
  private var index: [ObjectIdentifier: Int]?
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var all: [Operation] { places.compactMap { $0 } }

  /// Adds an operation; `false` if it is there already.
  mutating func add(_ operation: Operation) -> Bool {
    guard place(of: operation) == nil else { return false }
    if index == nil, places.count >= Self.few { makeIndex() }
    index?[ObjectIdentifier(operation)] = places.count
    places.append(operation)
    count += 1
    return true
  }

  /// Takes an operation away; `nil` if it is not there.
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
