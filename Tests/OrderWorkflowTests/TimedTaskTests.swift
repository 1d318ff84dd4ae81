import Properations
import TestSupport
import Testing

@testable import OrderWorkflow

@Suite("TimedTask", .timeLimit(.minutes(5)), .oneAtATime)
struct TimedTaskTests {
  private let world = World(timeline: Timeline(), chance: Chance(seed: 1, probability: 0))
  private let workflow = Workflow(name: "Test", context: .inline)

  private func added() throws -> TimedTask<Int> {
    let task = TimedTask(name: "task", takes: .seconds(4), failing: 0, in: world) { _ in 5 }
    return try workflow.add(task)
  }

  @Test("It says how far it has come, and has its result in the end")
  func progress() throws {
    let task = try added()
    #expect(task.progress == 0)
    workflow.start()
    world.timeline.advance(to: .seconds(1))
    #expect(task.progress == 0.25)
    world.timeline.advance(to: .seconds(4))
    #expect(task.progress == 1)
    #expect(task.result == 5)
    #expect(task.attempts == 1)
  }

  @Test("Cancelled, it leaves nothing on the agenda; retried, it begins anew")
  func cancelled() throws {
    let task = try added()
    workflow.start()
    world.timeline.advance(to: .seconds(3))
    task.cancel()
    #expect(world.timeline.next == nil)
    #expect(task.progress == 0)
    task.retry()
    world.timeline.advance(to: .seconds(5))
    #expect(task.progress == 0.5)
    #expect(task.attempts == 2)
    world.timeline.advance(to: .seconds(7))
    #expect(task.isFinished)
  }
}
