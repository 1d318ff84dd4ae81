import Futures
import Synchronization

/// A list of entries, in order, that any thread may append to.
package final class Log<Entry: Sendable>: Sendable {
  private let state = TestLock<[Entry]>([])

  package init() {}

  /// Appends an entry.
  package func append(_ entry: Entry) { state.withLock { $0.append(entry) } }

  /// All entries so far.
  package var entries: [Entry] { state.withLock { $0 } }

  /// Removes all entries, and returns them.
  package func takeAll() -> [Entry] {
    state.withLock { entries in
      defer { entries = [] }
      return entries
    }
  }

  /// How many entries there are so far.
  package var count: Int { state.withLock { $0.count } }
}

/// A number that any thread may change.
package final class Counter: Sendable {
  private let state = TestLock((value: 0, highest: 0))

  package init() {}

  /// The current number.
  package var value: Int { state.withLock { $0.value } }

  /// The highest number so far.
  package var highest: Int { state.withLock { $0.highest } }

  /// Adds to the number, and returns the sum.
  @discardableResult
  package func add(_ amount: Int = 1) -> Int {
    state.withLock { state in
      state.value += amount
      state.highest = max(state.highest, state.value)
      return state.value
    }
  }
}

/// A variable that any thread may read and write.
package final class Box<Value: Sendable>: Sendable {
  private let state: TestLock<Value>

  package init(_ value: Value) { state = TestLock(value) }

  /// The current value.
  package var value: Value {
    get { state.withLock { $0 } }
    set {
      // The release of the old value may run code, so it happens outside the lock.
      _ = state.withLock { value in
        defer { value = newValue }
        return value
      }
    }
  }
}
