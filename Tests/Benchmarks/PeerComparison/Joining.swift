import NIOCore
import Properations
import Workloads

/// Waiting for all of n futures, and for the first of n, which settle before or after.
///
/// The same: n promises exist, and the join is made, settled and read. Not the same: NIO
/// has no race; a task group makes its own tasks, and its race is the first result and
/// the cancellation of the rest; OpenCombine has no operator for many publishers yet.
func joining() {
  for count in [10, 1000, 100_000, 1_000_000] {
    collecting(count)
    racing(count)
  }
  measure("Combine 3 of different types, 1_000 times", .ours) {
    for _ in 0..<1000 {
      let (a, b, c) = (Promise<Int>(), Promise<String>(), Promise<Bool>())
      let all = Promises.combine(a, b, c)
      a.succeed(with: 1)
      b.succeed(with: "2")
      c.succeed(with: true)
      expect(all.result?.successValue?.0 == 1)
    }
  }
  measure("Combine 3 of different types, 1_000 times", .nio) {
    try Loops.run {
      for _ in 0..<1000 {
        let a = Loops.first.makePromise(of: Int.self)
        let b = Loops.first.makePromise(of: String.self)
        let c = Loops.first.makePromise(of: Bool.self)
        let all = a.futureResult.and(b.futureResult).and(c.futureResult)
        a.succeed(1)
        b.succeed("2")
        c.succeed(true)
        all.whenSuccess { expect($0.0.0 == 1) }
      }
    }
  }
}

private func collecting(_ count: Int) {
  let after = "Collect \(text(count)), settled after"
  measure(after, .ours, setUp: { Pending.promises(count) }) { Collecting.settledAfter($0) }
  measure(after, .nio) {
    try Loops.run {
      let promises = (0..<count).map { _ in Loops.first.makePromise(of: Int.self) }
      let all = EventLoopFuture.whenAllSucceed(promises.map(\.futureResult), on: Loops.first)
      for promise in promises { promise.succeed(1) }
      all.whenSuccess { expect($0.count == count) }
    }
  }
  let before = "Collect \(text(count)), settled before"
  measure(
    before, .ours, setUp: { (0..<count).map { Promises.makeSucceeded(with: $0) } }
  ) { futures in
    expect(Promises.collect(futures).result?.successValue?.count == count)
  }
  measure(before, .nio) {
    try Loops.run {
      let futures = (0..<count).map { Loops.first.makeSucceededFuture($0) }
      EventLoopFuture.whenAllSucceed(futures, on: Loops.first)
        .whenSuccess { expect($0.count == count) }
    }
  }
  guard count <= 100_000 else { return }
  measureAsync(before, .task) {
    let values = await withTaskGroup(of: Int.self) { group in
      for value in 0..<count { group.addTask { value } }
      return await group.reduce(into: [Int]()) { $0.append($1) }
    }
    expect(values.count == count)
  }
}

private func racing(_ count: Int) {
  let name = "Race of \(text(count))"
  measure(name, .ours, setUp: { Pending.promises(count) }) { promises in
    let first = Promises.race(promises)
    promises[count / 2].succeed(with: 1)
    expect(first.result?.successValue == 1)
  }
  guard count <= 100_000 else { return }
  measureAsync(name, .task) {
    let first = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<count { group.addTask { 1 } }
      let first = await group.next()
      group.cancelAll()
      return first
    }
    expect(first == 1)
  }
}
