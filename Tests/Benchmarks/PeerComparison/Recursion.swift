import NIOCore
import Properations
import Workloads

/// A future that returns a future, n times, like a loop over asynchronous steps.
///
/// The same: every step has settled already, and nothing hops. Not the same: NIO's
/// recursion runs on its loop. Like ours, it needs no stack for settled steps, but only
/// because `flatMap` is called on a pending future. Both sides do 10,000 steps.
func recursion() {
  for count in [100, 10_000] {
    let name = "Recursion of \(text(count)) mapToFuture"
    measure(name, .ours) {
      @Sendable func step(_ rest: Int) -> Properations.Future<Int> {
        rest == 0
          ? Promises.makeSucceeded(with: 7)
          : Promises.makeSucceeded(with: rest).mapToFuture(on: .inline) { step($0 - 1) }
      }
      expect(step(count).result?.successValue == 7)
    }
    measureAsync(name, .task) {
      @Sendable func step(_ rest: Int) async -> Int {
        rest == 0 ? 7 : await step(Task { rest - 1 }.value)
      }
      let result = await step(count)
      expect(result == 7)
    }
  }
  for count in [100, 10_000] {
    let name = "Loop of \(text(count)) pending flatMap"
    measure(name, .nio) {
      try Loops.run {
        let promise = Loops.first.makePromise(of: Int.self)
        var future = promise.futureResult
        for _ in 0..<count {
          future = future.flatMap { Loops.first.makeSucceededFuture($0 + 1) }
        }
        promise.succeed(0)
        future.whenSuccess { expect($0 == count) }
      }
    }
    measure(name, .ours) {
      let promise = Promise<Int>()
      var future: Properations.Future<Int> = promise
      for _ in 0..<count {
        future = future.mapToFuture(on: .inline) { Promises.makeSucceeded(with: $0 + 1) }
      }
      promise.succeed(with: 0)
      expect(future.result?.successValue == count)
    }
  }
}
