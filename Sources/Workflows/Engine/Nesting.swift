import Futures

/// Which workflows run inside which: no workflow may come to run inside itself.
///
/// Two workflows have two locks, and two threads may each put one into the other
/// at the same moment. So what is about to be nested is entered here first,
/// under the one lock of all nestings, and taken out again if nothing comes of
/// it. An entry lives as long as the outer workflow, which keeps the inner one;
/// thus the identifiers in it are of objects that exist.
enum Nesting {
  private static let inside = Lock<[ObjectIdentifier: [ObjectIdentifier: Int]]>([:])

  /// Enters that a workflow runs in another.
  ///
  /// - Returns: `false` if the outer one runs in the inner one already, or is the
  ///   same; then nothing is entered.
  /// - Complexity: O(the number of workflows nested in the inner one).
  static func enter(_ inner: Workflow, in outer: Workflow) -> Bool {
    let (inner, outer) = (ObjectIdentifier(inner), ObjectIdentifier(outer))
    return inside.withLock { inside in
      var seen: Set = [inner]
      var next = [inner]
      while let workflow = next.popLast() {
        if workflow == outer { return false }
        for nested in inside[workflow, default: [:]].keys where seen.insert(nested).inserted {
          next.append(nested)
        }
      }
      inside[outer, default: [:]][inner, default: 0] += 1
      return true
    }
  }

  /// Takes an entry out that was made for a task which was then refused.
  static func leave(_ inner: Workflow, in outer: Workflow) {
    let (inner, outer) = (ObjectIdentifier(inner), ObjectIdentifier(outer))
    inside.withLock { inside in
      guard let count = inside[outer]?[inner] else { return }
      inside[outer]?[inner] = count > 1 ? count - 1 : nil
      if inside[outer]?.isEmpty == true { inside[outer] = nil }
    }
  }

  /// Takes out all entries of an outer workflow, which is being released.
  static func release(_ outer: ObjectIdentifier) {
    inside.withLock { $0[outer] = nil }
  }
}
