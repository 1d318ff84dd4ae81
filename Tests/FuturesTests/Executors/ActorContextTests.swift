import Foundation
import TestSupport
import Testing

@testable import Futures

private actor Table {
  private(set) var rows: [Int] = []
  func append(_ row: Int) { rows.append(row) }
}

private actor Ledger {
  var total = 0
}

extension Ledger: ExecutionContext {}

/// Records the priorities of the jobs that it runs.
private final class PriorityLog: SerialExecutor {
  let priorities = Log<UInt8>()
  private let queue = DispatchQueue(label: "PriorityLog")

  func enqueue(_ job: consuming ExecutorJob) {
    priorities.append(job.priority.rawValue)
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

private actor Observed {
  private let executor: PriorityLog
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  init(on executor: PriorityLog) { self.executor = executor }
}

@Suite("Closures on actors", .timeLimit(.minutes(5)), .oneAtATime)
struct ActorContextTests {
  private let table = Table()

  @Test func `a closure gets the actor, and may change its state`() async throws {
    let count = Promises.makeSucceeded(with: 7).mapToValue(on: table) { table, row in
      table.append(row)
      return table.rows.count
    }
    #expect(try await count.value == 1)
    #expect(await table.rows == [7])
  }

  @Test func `each form runs its closure on the actor`() async throws {
    let seven = Promises.makeSucceeded(with: 7)
    let failed = Promises.makeFailed(with: TestError.first, promising: Int.self)
    let inner = seven.mapToFuture(on: table) { table, row in
      table.append(row)
      return Promises.makeSucceeded(with: row + 1)
    }
    #expect(try await inner.value == 8)
    let recovered = failed.recover(on: table) { table, _ in table.rows[0] }
    #expect(try await recovered.value == 7)
    _ = try await seven.onSuccess(on: table) { table, row in table.append(row + 2) }.value
    _ = await failed.onFailure(on: table) { table, _ in table.append(10) }.completion
    _ = try await seven.onCompletion(on: table) { table, _ in table.append(11) }.value
    let last = Promises.run(on: table) { table in table.rows.count }
    #expect(try await last.value == 4)
    #expect(await table.rows == [7, 9, 10, 11])
  }

  @Test func `closures that do not get the actor run on it, too`() async throws {
    let table = table
    let seven = Promises.makeSucceeded(with: 7)
    let failed = Promises.makeFailed(with: TestError.first, promising: Int.self)
    let isIsolated: @Sendable () -> Bool = {
      table.preconditionIsolated()
      return true
    }
    #expect(try await seven.mapToValue(on: table) { _ in isIsolated() }.value)
    #expect(
      try await seven.mapToFuture(on: table) { _ in
        Promises.makeSucceeded(with: isIsolated())
      }.value)
    #expect(try await failed.recover(on: table) { _ in isIsolated() ? 1 : 0 }.value == 1)
    #expect(try await Promises.run(on: table) { isIsolated() }.value)
    let calls = Log<Int>()
    _ = try await seven.onSuccess(on: table) { _ in if isIsolated() { calls.append(1) } }.value
    _ = await failed.onFailure(on: table) { _ in if isIsolated() { calls.append(2) } }.completion
    _ = try await seven.onCompletion(on: table) { _ in if isIsolated() { calls.append(3) } }.value
    #expect(await eventually { calls.entries == [1, 2, 3] })
  }

  @Test func `tasks of many priorities attach handlers: all have one priority on the actor`() async
  {
    // An actor prefers jobs of a high priority. So only those of one priority keep their order.
    let executor = PriorityLog()
    let observed = Observed(on: executor)
    let seven = Promises.makeSucceeded(with: 7)
    let rows = Log<Int>()
    for (row, priority) in [TaskPriority.background, .high, .low, .medium].enumerated() {
      let attaching = Task.detached(priority: priority) {
        seven.onSuccess(on: observed) { _, _ in rows.append(row) }
      }
      _ = await attaching.value
    }
    #expect(await eventually { rows.count == 4 })
    #expect(rows.entries == [0, 1, 2, 3])
    #expect(executor.priorities.count == 4 && Set(executor.priorities.entries).count == 1)
  }

  @Test func `an actor that is declared to be a context is one for every combinator`() async throws
  {
    let ledger = Ledger()
    let sum = Promises.collect([1, 2, 3].map { Promises.makeSucceeded(with: $0) })
      .mapToValue(on: ledger) { $0.reduce(0, +) }
      .ensure(on: ledger) { _ in
        ledger.preconditionIsolated()
        return true
      }
    #expect(try await sum.value == 6)
    let total = sum.mapToValue(on: ledger) { ledger, sum in
      ledger.total += sum
      return ledger.total
    }
    #expect(try await total.value == 6)
  }

  @Test func `1,000 closures run in the order in which they were attached`() async throws {
    let promise = Promise<Int>()
    let all = (0..<1_000).map { index in
      promise.mapToValue(on: table) { table, _ in table.append(index) }
    }
    promise.succeed(with: 1)
    for future in all { try await future.value }
    #expect(await table.rows == Array(0..<1_000))
  }

  @Test func `an error that a closure throws fails the future`() async {
    let future = Promises.makeSucceeded(with: 7).mapToValue(on: table) { _, _ -> Int in
      throw TestError.second
    }
    await #expect(throws: TestError.second) { try await future.value }
  }

  @Test func `a future that is cancelled before the actor is free does not run its closure`()
    async throws
  {
    let gate = DispatchSemaphore(value: 0)
    let calls = Log<Int>()
    let entered = Event()
    let holding = Promises.run(on: table) {
      entered.signal()
      gate.wait()
    }
    #expect(await entered.opened())
    let future = Promises.makeSucceeded(with: 7).mapToValue(on: table) { _ in calls.append(1) }
    future.cancel()
    gate.signal()
    try await holding.value
    try await Promises.run(on: table) {}.value
    #expect(future.isCancelled && calls.entries.isEmpty)
  }

  @Test func `the main actor is an actor, too`() async throws {
    let isMain = Promises.makeSucceeded(with: 7).mapToValue(on: MainActor.shared) { _, _ in
      MainActor.preconditionIsolated()
      return true
    }
    #expect(try await isMain.value)
  }

  @Test func `a future does not keep the actor after its closure has run`() async throws {
    weak var last: Table?
    let future: Future<Int>
    do {
      let table = Table()
      last = table
      future = Promises.makeSucceeded(with: 7).mapToValue(on: table) { table, row in
        table.append(row)
        return row
      }
    }
    #expect(try await future.value == 7)
    #expect(await eventually { last == nil })
  }

  @Test func `an actor is a context by itself, and gives itself to a closure: both in order`()
    async throws
  {
    let ledger = Ledger()
    for _ in 0..<20 {
      let log = Log<Int>()
      let promise = Promise<Int>()
      let source = promise.compactMapToValue(on: ledger) { $0 }
      let first = source.onSuccess(on: ledger) { _, _ in log.append(1) }
      let second = source.always(on: ledger) { log.append(2) }
      promise.succeed(with: 1)
      _ = await first.completion
      _ = await second.completion
      #expect(await eventually { log.count == 2 })
      #expect(log.entries == [1, 2])
    }
  }
}
