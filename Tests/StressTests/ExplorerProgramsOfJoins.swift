#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import OperationBridge
  import TestSupport
  import Testing

  @Suite("Explored programs: several futures", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfJoins {
    /// How several futures become one.
    enum Joining: String, CaseIterable, Sendable {
      case collect, collectFailingFast, collectResults, race, firstCompleted, alternative

      func join(_ futures: [Future<Int>]) -> AnyFuture {
        switch self {
        case .collect: Promises.collect(futures)
        case .collectFailingFast: Promises.collect(futures, failingFast: true)
        case .collectResults: Promises.collectResults(futures)
        case .race: Promises.race(futures)
        case .firstCompleted: Promises.firstCompleted(futures)
        case .alternative: futures[0] || futures[1]
        }
      }
    }

    /// Declares two inputs that end in different ways, and a cancellation.
    @Sendable private static func declare(_ program: ExploredProgram, _ joining: Joining) {
      let gates = [Promise<Int>(), Promise<Int>()]
      let joined = joining.join(gates.map { $0.mapToValue(on: .inline) { $0 } })
      let runs = Counter()
      Promises.make(awaitingCompletionOf: joined, on: .inline) { _ in }
        .onCompletion(on: .inline) { _ in runs.add() }
      program.thread { gates[0].succeed(with: 1) }
      program.thread { gates[1].fail(with: TestError.first) }
      program.thread { joined.cancel() }
      program.atEnd("the joined future has settled") { joined.isFulfilled && joined.isFinished }
      program.atEnd("who waits for its end is told once") { runs.value == 1 }
    }

    @Test(arguments: Joining.allCases)
    func `inputs that end at the same moment as the joined future is cancelled`(
      _ joining: Joining
    ) async throws {
      try await Explorer(preemptions: 2, limit: size(1_000))
        .explore("\(joining) of two") { Self.declare($0, joining) }
    }

    @Test(arguments: Joining.allCases)
    func `the same by random priorities`(_ joining: Joining) async throws {
      var generator = SeededGenerator(for: "\(joining)")
      try await Explorer(depth: 3, schedules: size(500), seed: generator.next())
        .explore("\(joining) by priorities") { Self.declare($0, joining) }
    }

    @Test func `a mapToFuture whose inner future settles while it is released`() async throws {
      let tracker = LifetimeTracker()
      try await Explorer(preemptions: 2, limit: size(3_000)).explore("an inner future") { program in
        let (gate, inner) = (Promise<Int>(), Promise<Int>())
        let tracked = tracker.make()
        let outer = Box<Future<Int>?>(
          gate.mapToFuture(on: .inline) { _ in
            tracked.touch()
            return inner
          })
        let consumer = outer.value!.mapToValue(on: .inline) { $0 }
        program.thread { gate.succeed(with: 1) }
        program.thread { inner.succeed(with: 2) }
        program.thread { outer.value = nil }
        program.atEnd("the consumer has the value") { try consumer.result?.get() == 2 }
      }
      #expect(tracker.alive == 0)
    }

    @Test func `a row of linked promises that are released`() async throws {
      try await Explorer(preemptions: 2, limit: size(3_000)).explore("a row") { program in
        let source = Promise<Int>()
        let row = (0..<2).map { _ in Box<Promise<Int>?>(Promise<Int>()) }
        let consumer = row[1].value!.mapToValue(on: .inline) { $0 }
        program.thread {
          row[0].value?.fulfill(from: source)
          row[0].value = nil
        }
        program.thread {
          if let first = row[0].value { row[1].value?.fulfill(from: first) }
          row[1].value = nil
        }
        program.thread { source.succeed(with: 1) }
        program.atEnd("the consumer has settled") { consumer.isFulfilled }
      }
    }

    @Test func `a scope that is cancelled while a future joins it`() async throws {
      try await Explorer(preemptions: 3, limit: size(3_000)).explore("a scope") { program in
        let scope = CancellationScope()
        let gate = Promise<Int>()
        let link = gate.mapToValue(on: .inline) { $0 }
        program.thread { _ = link.cancelled(by: scope) }
        program.thread { scope.cancel() }
        program.atEnd("the future is cancelled") { link.isCancelled && gate.isCancelled }
      }
    }
  }

#endif
