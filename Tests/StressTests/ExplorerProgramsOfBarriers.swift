#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import TestSupport
  import Testing
  import TypedTasks

  private enum Printer {}

  /// Holds a closure back until the gate is opened.
  private final class Gate: Sendable {
    private struct State {
      var isOpen = false
      var closure: (@Sendable () -> Void)?
    }

    private let state = TestLock(State())

    /// Runs the closure now, or when the gate is opened.
    func whenOpen(_ closure: @escaping @Sendable () -> Void) {
      let isOpen = state.withLock { state in
        if !state.isOpen { state.closure = closure }
        return state.isOpen
      }
      if isOpen { closure() }
    }

    func open() {
      let closure = state.withLock { state in
        state.isOpen = true
        defer { state.closure = nil }
        return state.closure
      }
      closure?()
    }
  }

  /// Two acts on a task queue in which a task executes, and a barrier is pending with a task
  /// of a category behind it.
  @Suite("Explored programs: barriers", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfBarriers {
    private let explorer = Explorer(preemptions: 2, limit: size(300))

    typealias Sample = BlockProducerTask<Int, TestError>
    typealias Stage = ProducerTask<Int, TestError>

    /// What a thread may do.
    enum Act: String, CaseIterable, Sendable {
      case addOperation, addBarrier, addExclusive, addDependent
      case cancelAll, cancelFront, cancelBehind
      case dependFront, finishFront, suspend, resume, limit
    }

    /// How the subjects differ.
    enum Kind: String, CaseIterable, Sendable {
      /// The task in front of the barrier has the category.
      case plain
      /// The task in front of the barrier has the only slot.
      case oneSlot
      /// The task behind the barrier is a group with a member of the category.
      case group
      /// A second queue has nothing to do but a task of the category, which no task that
      /// executes has.
      case secondQueue
    }

    /// The queue, and what is in it.
    final class Subject: Sendable {
      private let kind: Kind
      private let queue: TaskQueue
      private let secondQueue: TaskQueue
      private let front: Stage
      private let behind: Stage
      private let elsewhere: Stage?
      /// What ends the task in front of the barrier.
      private let gate = Gate()
      /// What the acts have added.
      private let tasks = Log<Stage>()
      private let operations = Log<Operation>()
      private let barriers = Counter()
      private let barrierRuns = Counter()
      private let working: Counter
      private let isEarly = Counter()
      private let hasWaitedElsewhere = Counter()

      init(_ kind: Kind, on thread: ExploredDispatchQueue) {
        self.kind = kind
        queue = TaskQueue(underlyingQueue: thread.queue)
        queue.maxConcurrentTaskCount = kind == .oneSlot ? 1 : 100
        secondQueue = TaskQueue(underlyingQueue: thread.queue)
        thread.serve(queue)
        thread.serve(secondQueue)

        let (working, barrierRuns, isEarly, gate) = (Counter(), barrierRuns, isEarly, gate)
        self.working = working
        front = Sample { _, finish in
          if kind != .secondQueue { working.add() }
          gate.whenOpen {
            if kind != .secondQueue { working.add(-1) }
            finish(.success(1))
          }
        }
        if kind != .secondQueue { front.addCondition(.mutuallyExclusive(Printer.self)) }
        let member = Self.exclusive(working) { if barrierRuns.value == 0 { isEarly.add() } }
        if kind == .group {
          let group = GroupProducerTask(
            underlyingQueue: thread.queue,
            tasks: [Sample { _, finish in finish(.success(1)) }, member], produced: member)
          thread.serve(group.innerQueue)
          behind = group
        } else {
          behind = member
        }
        elsewhere = kind == .secondQueue ? Self.exclusive(working) {} : nil

        queue.addTask(front)
        addBarrier()
        queue.addTask(behind)
        if let elsewhere { secondQueue.addTask(elsewhere) }
      }

      private static func exclusive(
        _ working: Counter, _ body: @escaping @Sendable () -> Void
      ) -> Stage {
        let task = Sample { _, finish in
          working.add()
          body()
          working.add(-1)
          finish(.success(1))
        }
        return task.addCondition(.mutuallyExclusive(Printer.self))
      }

      private func addBarrier() {
        barriers.add()
        let runs = barrierRuns
        queue.addBarrierBlock { runs.add() }
      }

      private func add(_ task: Stage) {
        tasks.append(task)
        queue.addTask(task)
      }

      func perform(_ act: Act) {
        switch act {
        case .addOperation:
          let operation = BlockOperation {}
          operations.append(operation)
          queue.addOperation(operation)
        case .addBarrier: addBarrier()
        case .addExclusive: add(Self.exclusive(working) {})
        case .addDependent: add(Self.exclusive(working) {}.addDependency(behind))
        case .cancelAll: queue.cancelAllTasks()
        case .cancelFront: front.cancel()
        case .cancelBehind: behind.cancel()
        case .dependFront:
          let first = Sample { _, finish in finish(.success(1)) }
          front.addDependency(first)
          tasks.append(first)
          // (In another queue: it could come behind the barrier in this one.)
          first.cancel()
        case .finishFront: gate.open()
        case .suspend: queue.isSuspended = true
        case .resume: queue.isSuspended = false
        case .limit: queue.maxConcurrentTaskCount = kind == .oneSlot ? 2 : 1
        }
      }

      /// Lets everything end that an act may have held back.
      func finish() {
        if elsewhere?.isFinished == false { hasWaitedElsewhere.add() }
        perform(.resume)
        perform(.finishFront)
      }

      /// Declares what has to hold in the end.
      ///
      /// - Parameter mayCancelBarrier: Whether an act may.
      func check(_ program: ExploredProgram, mayCancelBarrier: Bool) {
        program.atEnd("every task has settled and finished") { [self] in
          ([front, behind] + tasks.entries).allSatisfy { $0.isFulfilled && $0.isFinished }
        }
        program.atEnd("every operation has finished") { [self] in
          operations.entries.allSatisfy(\.isFinished)
        }
        program.atEnd("each barrier runs once") { [self] in
          mayCancelBarrier
            ? barrierRuns.value <= barriers.value : barrierRuns.value == barriers.value
        }
        program.atEnd("no task runs before the barrier in front of it") { [self] in
          mayCancelBarrier || isEarly.value == 0
        }
        program.atEnd("one task of the category works at a time") { [self] in
          working.highest <= 1 && working.value == 0
        }
        program.atEnd("the task of the second queue waits for nothing in the first") { [self] in
          hasWaitedElsewhere.value == 0
        }
        program.atEnd("the queues are empty") { [self] in
          [queue, secondQueue].allSatisfy { $0.taskCount == 0 && $0.operationCount == 0 }
        }
      }
    }

    @Test(arguments: Act.allCases, Kind.allCases)
    func `any two acts on a queue with a pending barrier leave no task behind`(
      _ first: Act, _ kind: Kind
    ) async throws {
      let index = try #require(Act.allCases.firstIndex(of: first))
      for second in Act.allCases[index...] {
        let name = "\(first) beside \(second), a barrier pending, \(kind)"
        try await explorer.explore(name) { program in
          let subject = Subject(kind, on: program.dispatchQueue())
          program.thread { subject.perform(first) }
          program.thread { subject.perform(second) }
          program.afterwards { subject.finish() }
          subject.check(program, mayCancelBarrier: first == .cancelAll || second == .cancelAll)
        }
      }
    }
  }

#endif
