import Foundation
import Futures
import TestSupport
import Testing
import TypedTasks

@Suite("Groups that are nested deeply", .timeLimit(.minutes(5)), .oneAtATime)
struct GroupDepthTests {
  @Test("A timeout ends 20,000 groups, one in the other, and later the work ends: needs no stack")
  func timeout() async throws {
    let (queue, clock) = (TaskQueue(), ManualClock())
    let finish = Box<(@Sendable () -> Void)?>(nil)
    let leaf = Sample<Int> { _, end in finish.value = { end(.success(1)) } }
    leaf.addObserver(Observers.Timeout(.milliseconds(10), clock: clock))
    var group = GroupTask<TestError>(tasks: [leaf])
    for _ in 0..<20_000 { group = GroupTask<TestError>(tasks: [group]) }
    queue.addTask(group)
    #expect(
      await eventually(within: Event.patienceForWork) {
        finish.value != nil && clock.sleeping == 1
      })
    clock.advance(by: .milliseconds(10))
    #expect(await group.outcome() == .timeout)
    try await SmallStackThread.running {
      let end = finish.value
      finish.value = nil
      end?()
    }
    await queue.finished()
  }
}
