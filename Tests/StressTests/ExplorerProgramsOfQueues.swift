#if PROPERATIONS_EXPLORER

  import Foundation
  import Futures
  import OperationBridge
  import TestSupport
  import Testing
  import TypedTasks

  @Suite("Explored programs: queues", .timeLimit(.minutes(10)), .oneAtATime)
  struct ExplorerProgramsOfQueues {
    private let explorer = Explorer(preemptions: 2, limit: size(1_000))

    typealias Sample = BlockProducerTask<Int, TestError>

    /// What a thread may do to a task queue, or to the task that is in it.
    enum Act: String, CaseIterable, Sendable {
      case addTask, cancelAll, cancelTask, addBarrier, observe, depend

      func perform(_ queue: TaskQueue, _ task: Sample, _ extra: Sample, _ runs: Counter) {
        switch self {
        case .addTask: queue.addTask(extra)
        case .cancelAll: queue.cancelAllTasks()
        case .cancelTask: task.cancel()
        case .addBarrier: queue.addBarrierBlock {}
        case .observe: task.onCompletion(on: .inline) { _ in runs.add() }
        case .depend:
          extra.addDependency(task)
          queue.addTask(extra)
        }
      }
    }

    @Test(arguments: Act.allCases)
    func `any two acts on a task queue leave no task behind`(_ first: Act) async throws {
      let index = try #require(Act.allCases.firstIndex(of: first))
      for second in Act.allCases[index...] {
        try await explorer.explore("\(first) beside \(second) on a task queue") { program in
          let thread = program.dispatchQueue()
          let queue = TaskQueue(underlyingQueue: thread.queue)
          queue.maxConcurrentTaskCount = 100
          thread.serve(queue)
          let runs = Counter()
          let tasks = (0..<3).map { _ in Sample { _, finish in finish(.success(1)) } }
          queue.addTask(tasks[0])
          program.thread { first.perform(queue, tasks[0], tasks[1], runs) }
          program.thread { second.perform(queue, tasks[0], tasks[2], runs) }
          let observers = [first, second].count { $0 == .observe }
          let added = [true] + [first, second].map { $0 == .addTask || $0 == .depend }
          program.atEnd("every task has settled") {
            zip(tasks, added).allSatisfy { !$1 || $0.isFulfilled && $0.isFinished }
          }
          program.atEnd("each observer runs once") { runs.value == observers }
          program.atEnd("the queue is empty") { queue.taskCount == 0 }
        }
      }
    }

    @Test func `a closure on an operation queue beside its cancellation`() async throws {
      try await explorer.explore("a closure on a queue") { program in
        let thread = program.dispatchQueue()
        let queue = OperationQueue()
        queue.underlyingQueue = thread.queue
        queue.maxConcurrentOperationCount = 1
        thread.serve(queue)
        let gate = Promise<Int>()
        let link = gate.mapToValue(on: queue) { $0 + 1 }
        let consumer = link.mapToValue(on: queue) { $0 + 1 }
        program.thread { gate.succeed(with: 1) }
        program.thread { consumer.cancel() }
        program.atEnd("both have settled") { link.isFinished && consumer.isFinished }
      }
    }

    @Test func `a closure on an operation queue beside the queue's cancellation`() async throws {
      try await explorer.explore("a cancelled queue") { program in
        let thread = program.dispatchQueue()
        let queue = OperationQueue()
        queue.underlyingQueue = thread.queue
        thread.serve(queue)
        let gate = Promise<Int>()
        let link = gate.mapToValue(on: queue) { $0 + 1 }
        let consumer = link.mapToValue(on: .inline) { $0 + 1 }
        program.thread { gate.succeed(with: 1) }
        program.thread { queue.cancelAllOperations() }
        program.atEnd("both have settled") { link.isFinished && consumer.isFinished }
      }
    }
  }

#endif
