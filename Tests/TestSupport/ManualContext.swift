import Foundation
import Futures
import Synchronization

/// A context that collects operations until a test starts them.
///
/// It is an object, so futures that name it may share a batch.
package final class ManualContext: ExecutionContext {
  private struct State {
    var waiting: [Operation] = []
    var executeCount = 0
  }

  private let state = TestLock(State())

  package init() {}

  package func execute(_ operation: Operation) {
    state.withLock { state in
      state.waiting.append(operation)
      state.executeCount += 1
    }
  }

  /// The number of operations that wait to be started.
  package var count: Int { state.withLock { $0.waiting.count } }

  /// How often the context was asked to start an operation.
  package var executeCount: Int { state.withLock { $0.executeCount } }

  /// The waiting operations; reading them starts none.
  package var waiting: [Operation] { state.withLock { $0.waiting } }

  /// Starts the operation that has waited longest; `false` if none waits.
  @discardableResult
  package func runNext() -> Bool {
    guard let operation = take() else { return false }
    operation.start()
    return true
  }

  /// Starts the same operation, which has waited longest, several times.
  package func runNext(times: Int) {
    guard let operation = take() else { return }
    for _ in 0..<times { operation.start() }
  }

  /// Starts operations in order until none is left, including operations that come
  /// meanwhile.
  ///
  /// Returns how many it started.
  @discardableResult
  package func runAll() -> Int {
    var count = 0
    while runNext() { count += 1 }
    return count
  }

  /// Starts operations until none is left; the generator picks the next operation.
  @discardableResult
  package func runAll(using generator: inout SeededGenerator) -> Int {
    var count = 0
    while runOne(using: &generator) { count += 1 }
    return count
  }

  /// Starts one operation that the generator picks; `false` if none waits.
  @discardableResult
  package func runOne(using generator: inout SeededGenerator) -> Bool {
    let size = count
    guard size > 0, let operation = take(at: Int.random(in: 0..<size, using: &generator)) else {
      return false
    }
    operation.start()
    return true
  }

  /// Releases all operations without starting them.
  ///
  /// Returns how many there were.
  @discardableResult
  package func dropAll() -> Int {
    // The release runs code of futures, so it happens outside the lock.
    let dropped = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    return dropped.count
  }

  private func take(at index: Int = 0) -> Operation? {
    state.withLock { state in
      index < state.waiting.count ? state.waiting.remove(at: index) : nil
    }
  }
}
