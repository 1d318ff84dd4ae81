#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import TestSupport
  import Testing

  @Suite("Explored programs: timers", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfTimers {
    private let explorer = Explorer(preemptions: 2, limit: size(2_000))

    @Test func `a timeout beside the settlement: the first wins, and both are seen to`()
      async throws
    {
      let results = Log<Bool>()
      let tracker = LifetimeTracker()
      try await explorer.explore("timeout beside succeed") { program in
        program.timers()
        let tracked = tracker.make()
        let gate = Promise<Int>()
        let limited = gate.mapToValue(on: .inline) {
          tracked.touch()
          return $0
        }.timeout(after: .seconds(1_000))
        program.thread { gate.succeed(with: 1) }
        program.thread { limited.onCompletion(on: .inline) { results.append($0.isSuccess) } }
        program.atEnd("it has settled") { limited.isFulfilled && limited.isFinished }
        program.atEnd("the promise has settled or is told that nobody wants it") {
          gate.isFulfilled
        }
      }
      #expect(Set(results.entries) == [true, false])
      #expect(tracker.alive == 0)
    }

    @Test func `a delay beside a cancellation settles once, and lets go of everything`()
      async throws
    {
      let tracker = LifetimeTracker()
      try await explorer.explore("delay beside cancel") { program in
        program.timers()
        let tracked = tracker.make()
        let gate = Promise<Int>()
        let delayed = gate.delay(for: .seconds(1_000))
        let consumer = delayed.mapToValue(on: .inline) {
          tracked.touch()
          return $0
        }
        program.thread { gate.succeed(with: 1) }
        program.thread { delayed.cancel() }
        program.atEnd("all have settled") { consumer.isFinished && delayed.isFinished }
        program.atEnd("both have one result") { consumer.isCancelled == delayed.isCancelled }
      }
      #expect(tracker.alive == 0)
    }

    @Test func `two timers ring in the order of their deadlines`() async throws {
      try await explorer.explore("two timers") { program in
        program.timers()
        let log = Log<Int>()
        for (number, time) in [(1, 10), (2, 5)] {
          Promises.delay(for: .seconds(time)).onCompletion(on: .inline) { _ in
            log.append(number)
          }
        }
        program.thread { Promises.delay(for: .seconds(1)).onCompletion(on: .inline) { _ in } }
        program.atEnd("the shorter one comes first") { log.entries == [2, 1] }
      }
    }
  }

#endif
