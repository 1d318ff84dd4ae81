import Futures

/// Which workflows run inside which: no workflow may come to run inside itself.
///
/// Two workflows have two locks, and two threads may each put one into the other
/// at the same moment. So what is about to be nested is entered here first,
/// under the one lock of all nestings, and taken out again if nothing comes of
/// it. An entry lives as long as the outer workflow, which keeps the inner one;
/// thus the identifiers in it are of objects that exist.
enum Nesting {
  private struct State {
    /// How often each outer workflow runs which inner ones.
    var inside: [ObjectIdentifier: [ObjectIdentifier: Int]] = [:]
    /// How many workflows run an inner one.
    var outerCount: [ObjectIdentifier: Int] = [:]

    mutating func remove(_ inner: ObjectIdentifier) {
      let count = outerCount[inner, default: 1] - 1
      outerCount[inner] = count > 0 ? count : nil
    }
  }

  private static let state = Lock(State())

  /// Enters that a workflow runs in another.
  ///
  /// - Returns: `false` if the outer one runs in the inner one already, or is the
  ///   same; then nothing is entered.
  /// - Complexity: O(1) if nothing is nested in the inner one, or the outer one is
  ///   nested in none; else O(the number of workflows nested in the inner one).
  static func enter(_ inner: Workflow, in outer: Workflow) -> Bool {
    let (inner, outer) = (ObjectIdentifier(inner), ObjectIdentifier(outer))
    guard inner != outer else { return false }
    return state.withLock { state in
      if state.outerCount[outer] != nil, state.inside[inner] != nil {
        var seen: Set = [inner]
        var next = [inner]
        while let workflow = next.popLast() {
          if workflow == outer { return false }
          for nested in state.inside[workflow, default: [:]].keys
          where seen.insert(nested).inserted {
            next.append(nested)
          }
        }
      }
      let count = state.inside[outer]?[inner] ?? 0
      state.inside[outer, default: [:]][inner] = count + 1
      if count == 0 { state.outerCount[inner, default: 0] += 1 }
      return true
    }
  }

  /// Takes an entry out that was made for a task which was then refused.
  static func leave(_ inner: Workflow, in outer: Workflow) {
    let (inner, outer) = (ObjectIdentifier(inner), ObjectIdentifier(outer))
    state.withLock { state in
      guard let count = state.inside[outer]?[inner] else { return }
      if count > 1 {
        state.inside[outer]?[inner] = count - 1
      } else {
        state.inside[outer]?[inner] = nil
        if state.inside[outer]?.isEmpty == true { state.inside[outer] = nil }
        state.remove(inner)
      }
    }
  }

  /// Takes out all entries of an outer workflow, which is being released.
  static func release(_ outer: ObjectIdentifier) {
    state.withLock { state in
      for inner in (state.inside.removeValue(forKey: outer) ?? [:]).keys { state.remove(inner) }
    }
  }
}
