import AsyncAlgorithms
import NIOCore
import Properations
import Workloads

/// Results that pass between futures and tasks.
func awaiting() {
  hundredThousand()
  roundTrips()
}

/// A hundred thousand tasks that each await a future.
///
/// The same: the tasks; the futures settle while the tasks wait. NIO's values are awaited
/// with `get()`.
private func hundredThousand() {
  let count = 100_000
  let name = "Await \(text(count)) from tasks"
  measureAsync(name, .ours) {
    let promises = Pending.promises(count)
    await withThrowingDiscardingTaskGroupOrTrap { group in
      for promise in promises {
        group.addTask {
          let value = try await promise.value
          expect(value == 1)
        }
      }
      for promise in promises { promise.succeed(with: 1) }
    }
  }
  measureAsync(name, .nio) {
    let promises = (0..<count).map { _ in Loops.first.makePromise(of: Int.self) }
    await withThrowingDiscardingTaskGroupOrTrap { group in
      for promise in promises {
        group.addTask {
          let value = try await promise.futureResult.get()
          expect(value == 1)
        }
      }
      for promise in promises { promise.succeed(1) }
    }
  }
}

/// From async code into a future and back, a thousand times.
///
/// The same: for each value a task is started and its result is awaited. Not the same:
/// through a channel of swift-async-algorithms, two existing tasks pass the values to
/// each other.
private func roundTrips() {
  let name = "1_000 async -> future -> async round trips"
  measureAsync(name, .ours) {
    for value in 0..<1000 {
      let result = try await Promises.async { value }.value
      expect(result == value)
    }
  }
  measureAsync(name, .nio) {
    for value in 0..<1000 {
      let result = try await Loops.first.makeFutureWithTask { value }.get()
      expect(result == value)
    }
  }
  measureAsync(name, .task) {
    for value in 0..<1000 {
      let result = await Task { value }.value
      expect(result == value)
    }
  }
  measureAsync(name, .asyncAlgorithms) {
    let channel = AsyncChannel<Int>()
    Task {
      for value in 0..<1000 { await channel.send(value) }
      channel.finish()
    }
    var expected = 0
    for await value in channel {
      expect(value == expected)
      expected += 1
    }
    expect(expected == 1000)
  }
}

/// A task group in which no child is expected to fail.
private func withThrowingDiscardingTaskGroupOrTrap(
  _ body: (inout ThrowingDiscardingTaskGroup<any Error>) throws -> Void
) async {
  do {
    try await withThrowingDiscardingTaskGroup { try body(&$0) }
  } catch {
    expect(false, "a task failed")
  }
}
