#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import TestSupport
  import Testing

  @Suite("The explorer of thread schedules", .timeLimit(.minutes(5)), .oneAtATime)
  struct ExplorerTests {
    /// Expects that a program fails, and returns how.
    private func failure(
      of name: String, by explorer: Explorer = Explorer(preemptions: 2),
      _ program: @escaping @Sendable (ExploredProgram) -> Void
    ) async throws -> ScheduleFailure {
      let failure = await #expect(throws: ScheduleFailure.self) {
        try await explorer.explore(name, program)
      }
      return try #require(failure)
    }

    // MARK: What it finds

    /// Two threads that read, and then write what they have read and one more.
    @Sendable private static func lostUpdate(_ program: ExploredProgram) {
      let number = Shared(0)
      for _ in 0..<2 { program.thread { number.set(number.get() + 1) } }
      program.atEnd("both additions count") { number.get() == 2 }
    }

    @Test func `a lost update needs one preemption, and is found with one`() async throws {
      let without = try await Explorer(preemptions: 0).explore("an update", Self.lostUpdate)
      #expect(without.isComplete)
      #expect(without.schedules == 2)
      let failure = try await failure(
        of: "an update", by: Explorer(preemptions: 1), Self.lostUpdate)
      #expect(failure.kind == .check("both additions count"))
      #expect(failure.schedulesRun < 10)
    }

    @Test func `an update in one step holds in all schedules`() async throws {
      let exploration = try await Explorer(preemptions: 4).explore("an addition") { program in
        let shared = Shared(0)
        for _ in 0..<2 { program.thread { shared.change { $0 += 1 } } }
        program.atEnd("both additions count") { shared.get() == 2 }
      }
      #expect(exploration.isComplete)
    }

    @Test func `locks that are taken in two orders are found to deadlock`() async throws {
      let failure = try await failure(of: "two orders") { program in
        let (a, b) = (Shared(0), Shared(0))
        program.thread { a.change { _ in b.change { $0 += 1 } } }
        program.thread { b.change { _ in a.change { $0 += 1 } } }
      }
      #expect(failure.kind == .deadlock)
    }

    @Test func `a wake-up between the look and the sleep is found to get lost`() async throws {
      let failure = try await failure(of: "a lost wake-up") { program in
        let isReady = Shared(false)
        let sleepers = Shared<[BlockingSemaphore]>([])
        program.thread {
          guard !isReady.get() else { return }
          let semaphore = BlockingSemaphore(value: 0)
          sleepers.change { $0.append(semaphore) }
          semaphore.wait()
        }
        program.thread {
          isReady.set(true)
          for sleeper in sleepers.get() { sleeper.signal() }
        }
      }
      #expect(failure.kind == .deadlock)
    }

    @Test func `a wake-up that is looked for again after going to bed is not lost`() async throws {
      let exploration = try await Explorer(preemptions: 3).explore("a kept wake-up") { program in
        let isReady = Shared(false)
        let sleepers = Shared<[BlockingSemaphore]>([])
        program.thread {
          let semaphore = BlockingSemaphore(value: 0)
          sleepers.change { $0.append(semaphore) }
          if !isReady.get() { semaphore.wait() }
        }
        program.thread {
          isReady.set(true)
          for sleeper in sleepers.get() { sleeper.signal() }
        }
      }
      #expect(exploration.isComplete)
    }

    @Test func `an invariant that breaks for a moment is found`() async throws {
      let failure = try await failure(of: "a moment", by: Explorer(preemptions: 0)) { program in
        let (a, b) = (Shared(0), Shared(0))
        program.thread {
          a.set(1)
          b.set(1)
        }
        program.always("both are the same") { a.get() == b.get() }
      }
      #expect(failure.kind == .invariant("both are the same"))
    }

    @Test func `a thread that waits by looking is stopped at the step limit`() async throws {
      let failure = try await failure(
        of: "busy waiting", by: Explorer(preemptions: 0, stepLimit: 1_000)
      ) { program in
        let isReady = Shared(false)
        program.thread { while !isReady.get() {} }
        program.thread { isReady.set(true) }
      }
      #expect(failure.kind == .stepLimit)
    }

    @Test func `a thread that blocks unknown to the explorer is given up`() async throws {
      let semaphore = DispatchSemaphore(value: 0)
      var explorer = Explorer(preemptions: 0)
      explorer.patience = .milliseconds(200)
      let failure = try await failure(of: "a hidden wait", by: explorer) { program in
        program.thread { semaphore.wait() }
      }
      #expect(failure.kind == .stalled)
    }

    @Test func `a wait with a timeout ends when nothing else can happen`() async throws {
      let results = Log<DispatchTimeoutResult>()
      try await Explorer(preemptions: 2).explore("a timeout") { program in
        let semaphore = BlockingSemaphore(value: 0)
        program.thread { results.append(semaphore.wait(timeout: .now() + 1_000)) }
        program.thread { _ = Shared(0).get() }
      }
      #expect(results.count > 1)
      #expect(results.entries.allSatisfy { $0 == .timedOut })
    }

    // MARK: Depth

    /// Four threads, and a fault that shows when two of them are stopped half-way.
    @Sendable private static func deepFault(_ program: ExploredProgram) {
      let (a, b) = (Shared(0), Shared(0))
      let noise = Shared(0)
      let isWrong = Shared(false)
      program.thread {
        for _ in 0..<10 { noise.change { $0 += 1 } }
        a.set(1)
        for _ in 0..<10 { noise.change { $0 += 1 } }
        a.set(2)
      }
      program.thread {
        for _ in 0..<10 { noise.change { $0 += 1 } }
        if a.get() == 1 { b.set(1) }
        for _ in 0..<10 { noise.change { $0 += 1 } }
        b.set(2)
      }
      program.thread {
        for _ in 0..<10 { noise.change { $0 += 1 } }
        if b.get() == 1, a.get() == 1 { isWrong.set(true) }
      }
      program.thread { for _ in 0..<30 { noise.change { $0 += 1 } } }
      program.atEnd("nothing is wrong") { !isWrong.get() }
    }

    @Test func `random priorities find a fault of depth 3 in a larger program`() async throws {
      let failure = try await failure(
        of: "deep", by: Explorer(depth: 3, schedules: 10_000, seed: 1), Self.deepFault)
      #expect(failure.kind == .check("nothing is wrong"))
    }

    @Test func `the same seed finds the same schedule`() async throws {
      let explorer = Explorer(depth: 3, schedules: 10_000, seed: 7)
      let first = try await failure(of: "deep", by: explorer, Self.deepFault)
      let second = try await failure(of: "deep", by: explorer, Self.deepFault)
      #expect(first.schedule == second.schedule)
      #expect(first.schedulesRun == second.schedulesRun)
    }

    // MARK: Replay

    @Test func `a failure is replayed from its schedule's text`() async throws {
      let explorer = Explorer(preemptions: 2)
      let first = try await failure(of: "an update", by: explorer, Self.lostUpdate)
      let schedule = try #require(Schedule(first.schedule.description))
      #expect(schedule == first.schedule)
      for _ in 0..<10 {
        let again = await #expect(throws: ScheduleFailure.self) {
          try await explorer.replay("an update", schedule, Self.lostUpdate)
        }
        #expect(again?.kind == first.kind)
        #expect(again?.trace == first.trace)
      }
      try await explorer.replay("an update", Schedule(), Self.lostUpdate)
    }

    @Test func `a schedule that does not fit the program is refused`() async throws {
      let failure = await #expect(throws: ScheduleFailure.self) {
        try await Explorer(preemptions: 0)
          .replay("an update", try #require(Schedule("0>5")), Self.lostUpdate)
      }
      #expect(failure?.kind == .notRepeatable)
      #expect(Schedule("1>2>3") == nil)
      #expect(Schedule("now") == nil)
    }

    // MARK: What belongs to a program

    @Test func `a context's thread starts what it is given, and ends`() async throws {
      try await Explorer(preemptions: 2, limit: 500).explore("a context") { program in
        let context = program.context()
        let log = Log<Int>()
        for number in 0..<2 {
          program.thread { context.execute(BlockOperation { log.append(number) }) }
        }
        program.afterwards { context.execute(BlockOperation { log.append(2) }) }
        program.atEnd("all were started, the last one last") {
          log.entries.sorted() == [0, 1, 2] && log.entries.last == 2
        }
      }
    }

    @Test func `a queue's blocks run on the thread of the program`() async throws {
      let failure = try await failure(of: "a queue") { program in
        let thread = program.dispatchQueue()
        let queue = OperationQueue()
        queue.underlyingQueue = thread.queue
        thread.serve(queue)
        let number = Shared(0)
        program.thread { queue.addOperation { number.set(number.get() + 1) } }
        program.thread { number.set(number.get() + 1) }
        program.atEnd("both additions count") { number.get() == 2 }
      }
      #expect(failure.kind == .check("both additions count"))
    }

    @Test func `no thread is stopped in a section without points`() async throws {
      try await Explorer(preemptions: 3).explore("a section") { program in
        let number = Shared(0)
        for _ in 0..<2 {
          program.thread { unexplored { number.set(number.get() + 1) } }
        }
        program.atEnd("both additions count") { number.get() == 2 }
      }
    }

    @Test func `an atomic of the package is a scheduling point`() async throws {
      let failure = try await failure(of: "an atomic", by: Explorer(preemptions: 1)) { program in
        let number = Number()
        for _ in 0..<2 { program.thread { number.addInTwoSteps() } }
        program.atEnd("both additions count") { number.value == 2 }
      }
      #expect(failure.kind == .check("both additions count"))
    }
  }

  /// A variable with a lock of the package.
  private final class Shared<Value: Sendable>: Sendable {
    private let value: Lock<Value>
    init(_ value: Value) { self.value = Lock(value) }
    func get() -> Value { value.withLock { $0 } }
    func set(_ new: Value) { value.withLock { $0 = new } }
    func change(_ body: (inout Value) -> Void) { value.withLock { body(&$0) } }
  }

  /// A number with an atomic of the package.
  private final class Number: Sendable {
    private let number = Atomic<Int>(0)
    var value: Int { number.load(ordering: .acquiring) }
    func addInTwoSteps() {
      number.store(number.load(ordering: .acquiring) + 1, ordering: .releasing)
    }
  }

#endif
