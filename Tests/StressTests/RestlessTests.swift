import Foundation
import Properations
import TestSupport
import Testing

/// Small random programs whose parts three threads use as they please, at the
/// same time, and then let go of.
///
/// A seed gives the program and what the threads do, not when. Nothing may crash
/// (the sanitizers watch), everything must end, and nothing may be left over.
@Suite("Restless programs", .timeLimit(.minutes(10)), .oneAtATime)
struct RestlessTests {
  private static let count = isStressing ? times(5_000) : 150

  /// Lets three threads act, with a generator each.
  private static func threads(
    _ generator: inout SeededGenerator, _ act: @escaping @Sendable (inout SeededGenerator) -> Void
  ) async {
    let seeds = (0..<3).map { _ in generator.next() }
    await withTaskGroup(of: Void.self) { group in
      for seed in seeds {
        group.addTask {
          var generator = SeededGenerator(seed: seed)
          for _ in 0..<10 { act(&generator) }
        }
      }
    }
  }

  /// Plays programs; none may leave anything of what it has made.
  private static func play(
    count: Int = count,
    _ program: @Sendable (inout SeededGenerator, LifetimeTracker) async throws -> String?
  ) async rethrows {
    try await SeededSchedules.play("RestlessTests", count: count) { generator in
      let tracker = LifetimeTracker()
      if let fault = try await program(&generator, tracker) { return fault }
      if tracker.alive == 0 { return nil }
      return await eventually { tracker.alive == 0 }
        ? nil : "\(tracker.alive) closures are kept"
    }
  }

  @Test("futures that three threads settle, cancel, await and chain on all settle, and go")
  func futures() async {
    await Self.play { generator, tracker in
      let futures = RestlessFutures(&generator, tracker)
      let waiting = Task { [last = futures.all.last] in try? await last?.value }
      if Bool.random(using: &generator) { waiting.cancel() }
      await Self.threads(&generator) { futures.act(&$0) }
      for promise in futures.promises { promise.succeed(with: 1) }
      _ = await waiting.value
      let settled = await eventually {
        futures.all.allSatisfy { $0.isFulfilled }
      }
      return settled ? nil : "\(futures.all.filter { !$0.isFulfilled })"
    }
  }

  @Test("limits, loads, batches and retries that three threads use: all settles and comes back")
  func limits() async {
    await Self.play { generator, tracker in
      let limits = RestlessLimits(&generator, tracker)
      await Self.threads(&generator) { for _ in 0..<4 { limits.act(&$0) } }
      limits.settle(&generator)
      let settled = await eventually {
        limits.clock.advance(by: .milliseconds(250))
        return limits.pending.isEmpty && limits.isAtRest
      }
      return settled ? nil : "not at rest, pending: \(limits.pending.map { $0.explain() })"
    }
  }

  @Test("tasks that three threads enqueue, cancel, hold back and chain on all finish, and go")
  func tasks() async {
    // (One of these programs takes as long as four of the others.)
    await Self.play(count: Self.count / 4) { generator, tracker in
      let tasks = RestlessTasks(&generator, tracker)
      await Self.threads(&generator) { for _ in 0..<2 { tasks.act(&$0) } }
      tasks.end()
      let finished = await eventually { tasks.isAtRest }
      if tasks.working.highest > 1 { return "two tasks of a category worked at a time" }
      return finished ? nil : "\(tasks.pending)"
    }
  }

  @Test("workflows that three threads used come to rest, cancelled or not, and go")
  func workflows() async throws {
    try await Self.play { generator, tracker in
      let program = try RestlessWorkflow(&generator, tracker)
      if Bool.random(using: &generator) {
        let events = program.workflow.events
        Task { for await _ in events {} }
      }
      await Self.threads(&generator) { program.act(&$0) }
      if Bool.random(using: &generator) {
        program.workflow.cancel()
        return nil
      }
      let outcome = program.workflow.retry()
      let isAtRest = await eventually {
        // (Again and again: a reset may just be on its way.)
        for condition in program.conditions { condition.fulfill(with: 1) }
        return outcome.isFulfilled
      }
      return isAtRest ? nil : "goes on: \(program.workflow.debugDescription)"
    }
  }
}
