#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import TestSupport
  import Testing
  import TypedTasks

  // The explorer proves itself on faults that were real.
  //
  // Each program below showed a fault that the engine had when the explorer came, and
  // that the explorer found. All are mended. The faults whose mends can be taken out in
  // one line are mutants in .ci/mutants.list, which these tests have to kill: so the
  // explorer goes on proving itself.

  @Suite("The explorer proves itself", .timeLimit(.minutes(5)), .oneAtATime)
  struct ExplorerProofTests {
    /// The most schedules that a fault may take.
    private static let limit = 10_000

    /// Explores a program that showed a fault, which is mended.
    private func passes(
      _ name: String, _: ScheduleFailure.Kind,
      _ program: @escaping @Sendable (ExploredProgram) -> Void
    ) async throws {
      try await Explorer(preemptions: 2, limit: Self.limit).explore(name, program)
    }

    // MARK: Fault 3: cycles that two threads close at once

    @Test func `two futures that depend on each other`() async throws {
      try await passes("mutual dependencies", .check("both settle")) { program in
        let (first, second) = (Promise<Int>(), Promise<Int>())
        let a = first.mapToValue(on: .inline) { $0 }
        let b = second.mapToValue(on: .inline) { $0 }
        program.thread { a.addDependency(b) }
        program.thread { b.addDependency(a) }
        program.afterwards {
          first.succeed(with: 1)
          second.succeed(with: 2)
        }
        program.atEnd("both settle") { a.isFulfilled && b.isFulfilled }
      }
    }

    @Test func `two released futures whose closures return each other's descendants`() async throws
    {
      try await passes("mutual inner futures", .check("both consumers settle")) { program in
        let gates = [Promise<Int>(), Promise<Int>()]
        let descendants = [Box<Future<Int>?>(nil), Box<Future<Int>?>(nil)]
        let futures = [0, 1].map { index in
          gates[index].mapToFuture(on: .inline) { _ -> Future<Int> in
            let descendant = descendants[index].value!
            descendants[index].value = nil
            return descendant
          }
        }
        for index in [0, 1] {
          descendants[index].value = futures[1 - index].mapToValue(on: .inline) { $0 }
        }
        let consumers = futures.map { $0.mapToValue(on: .inline) { $0 } }
        let held = futures.map { Box<Future<Int>?>($0) }
        for index in [0, 1] {
          program.thread {
            gates[index].succeed(with: 1)
            held[index].value = nil
          }
        }
        program.atEnd("both consumers settle") { consumers.allSatisfy(\.isFulfilled) }
      }
    }

    @Test func `a ring of linked promises that are released`() async throws {
      try await passes("a ring of promises", .check("the consumers settle")) { program in
        let promises = (0..<3).map { _ in Box<Promise<Int>?>(Promise<Int>()) }
        let consumers = promises.map { $0.value!.mapToValue(on: .inline) { $0 } }
        for (index, box) in promises.enumerated() {
          let next = promises[(index + 1) % 3]
          program.thread {
            if let promise = box.value, let source = next.value { promise.fulfill(from: source) }
            box.value = nil
          }
        }
        program.atEnd("the consumers settle") { consumers.allSatisfy(\.isFulfilled) }
      }
    }

    // MARK: Typed tasks: an operation beside a barrier, with one barrier pending

    @Test func `an operation and a barrier that come to a queue with a barrier`() async throws {
      try await passes("an operation beside a barrier", .check("everything has run")) { program in
        let thread = program.dispatchQueue()
        let queue = TaskQueue(underlyingQueue: thread.queue)
        queue.maxConcurrentTaskCount = 100
        thread.serve(queue)
        let runs = Counter()
        queue.addBlock { runs.add() }
        queue.addBarrierBlock { runs.add() }
        program.thread { queue.addBlock { runs.add() } }
        program.thread { queue.addBarrierBlock { runs.add() } }
        program.atEnd("everything has run") { runs.value == 4 }
      }
    }
  }

#endif
