import Foundation
import Futures
import OperationBridge
import TestSupport
import Testing

@Suite("Closures that pass a barrier", .timeLimit(.minutes(5)), .oneAtATime)
struct PassedBarrierTests {
  @Test("an async closure waits for one that has passed a barrier and waits for a slot: its value")
  func passed() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    let (gate, hold, isBusy) = (Promise<Void>(), Promise<Void>(), Event())
    let late = queue.run(after: gate) { () async in 1 }
    let first = queue.run { () async throws in try await late.value }
    let busy = queue.run { () async throws in
      isBusy.signal()
      try await hold.value
    }
    #expect(await isBusy.opened())
    let last = queue.run(barrier: true) { () async in }
    gate.succeed()
    // The wait looks again and again whether it can end.
    #expect(await eventually(within: .milliseconds(200)) { first.isSettled } == false)
    hold.succeed()
    #expect(try await first.value == 1)
    _ = try await (busy.value, last.value)
  }
}
