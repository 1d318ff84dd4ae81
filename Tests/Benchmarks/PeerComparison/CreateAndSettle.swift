import Foundation
import NIOCore
import OpenCombine
import Properations
import Workloads

/// A thousand promises, each made, settled and released.
///
/// The same: one value goes in, and it can be read afterwards. Not the same: a task
/// starts work on another thread and must be awaited; OpenCombine's future has no
/// readable result, so a subscriber takes it.
func createAndSettle() {
  let name = "Create and settle 1_000"
  measure(name, .ours) { Pending.createAndFulfil(1000) }
  measure(name, .nio) {
    try Loops.run {
      for value in 0..<1000 {
        let promise = Loops.first.makePromise(of: Int.self)
        promise.succeed(value)
        promise.futureResult.whenSuccess { expect($0 == value) }
      }
    }
  }
  measure(name, .openCombine) {
    for value in 0..<1000 {
      let future = OpenCombine.Future<Int, Never> { promise in promise(.success(value)) }
      _ = future.sink { expect($0 == value) }
    }
  }
  measure(name, .operation) { InlineChain.floor(length: 1000) }
  measureAsync(name, .task) {
    for value in 0..<1000 {
      let result = await Task { value }.value
      expect(result == value)
    }
  }

  // All are made before the first one settles: this shows the cost of futures that do not
  // fit in the caches.
  let many = "Create 1_000_000, then settle them"
  measure(many, .ours) { Pending.createAllThenFulfil(1_000_000) }
  measure(many, .nio) {
    try Loops.run {
      let promises = (0..<1_000_000).map { _ in Loops.first.makePromise(of: Int.self) }
      for promise in promises { promise.succeed(1) }
      promises.last?.futureResult.whenSuccess { expect($0 == 1) }
    }
  }
}
