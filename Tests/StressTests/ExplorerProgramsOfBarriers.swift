#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import TestSupport
  import Testing
  import TypedTasks

  private enum Printer {}

  /// Two acts on a task queue in which a barrier is pending, with a task of a category on
  /// either side of it.
  @Suite("Explored programs: barriers", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfBarriers {
    private let explorer = Explorer(preemptions: 2, limit: size(1_000))

    typealias Sample = BlockProducerTask<Int, TestError>

    /// What a thread may do.
    enum Act: String, CaseIterable, Sendable {
      case addOperation, addBarrier, addExclusive, addDependent
      case cancelAll, cancelFront, cancelBehind
      case dependFront, suspend, limit
    }

    /// The queue, and what is in it.
    final class Subject: Sendable {
      private let queue: TaskQueue
      private let front: Sample
      private let behind: Sample
      /// What the acts have added.
      private let tasks = Log<Sample>()
      private let operations = Log<Operation>()
      private let barriers = Counter()
      private let barrierRuns = Counter()
      private let working = Counter()
      private let isEarly = Counter()

      init(on queue: TaskQueue) {
        self.queue = queue
        let (working, barrierRuns, isEarly) = (working, barrierRuns, isEarly)
        front = Self.exclusive {
          working.add()
          working.add(-1)
        }
        behind = Self.exclusive {
          working.add()
          if barrierRuns.value == 0 { isEarly.add() }
          working.add(-1)
        }
        queue.addTask(front)
        addBarrier()
        queue.addTask(behind)
      }

      private static func exclusive(_ body: @escaping @Sendable () -> Void) -> Sample {
        let task = Sample { _, finish in
          body()
          finish(.success(1))
        }
        task.addCondition(Conditions.MutuallyExclusive(Printer.self))
        return task
      }

      private func addBarrier() {
        barriers.add()
        let runs = barrierRuns
        queue.addBarrierBlock { runs.add() }
      }

      private func add(_ task: Sample) {
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
        case .addExclusive: add(Self.exclusive {})
        case .addDependent: add(Self.exclusive {}.addDependency(behind))
        case .cancelAll: queue.cancelAllTasks()
        case .cancelFront: front.cancel()
        case .cancelBehind: behind.cancel()
        case .dependFront:
          let first = Sample { _, finish in finish(.success(1)) }
          front.addDependency(first)
          tasks.append(first)
          // (In another queue: it could come behind the barrier in this one.)
          first.cancel()
        case .suspend:
          queue.isSuspended = true
          queue.isSuspended = false
        case .limit: queue.maxConcurrentTaskCount = 1
        }
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
        program.atEnd("the queue is empty") { [self] in
          queue.taskCount == 0 && queue.operationCount == 0
        }
      }
    }

    @Test(arguments: Act.allCases)
    func `any two acts on a queue with a pending barrier leave no task behind`(_ first: Act)
      async throws
    {
      let index = try #require(Act.allCases.firstIndex(of: first))
      for second in Act.allCases[index...] {
        try await explorer.explore("\(first) beside \(second), a barrier pending") { program in
          let thread = program.dispatchQueue()
          let queue = TaskQueue(underlyingQueue: thread.queue)
          queue.maxConcurrentTaskCount = 100
          thread.serve(queue)
          let subject = Subject(on: queue)
          program.thread { subject.perform(first) }
          program.thread { subject.perform(second) }
          subject.check(program, mayCancelBarrier: first == .cancelAll || second == .cancelAll)
        }
      }
    }
  }

#endif
